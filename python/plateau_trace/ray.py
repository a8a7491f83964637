"""Records Ray actors and tasks: a runtime_env that starts their workers under Plateau.

    import ray
    from plateau_trace.ray import runtime_env

    @ray.remote(runtime_env=runtime_env("/local/plateau/%j/%h"))   # this actor
    class Trainer: ...

    ray.init(runtime_env=runtime_env("/local/plateau/%j/%h"))      # or every worker of the job

Each worker writes its own trace on the node where it runs; `plateau_trace.fleet.ray.write()` maps them there. The traces name
the node, the job and the actor. Without a `plateau` in the workers' environment the program runs unrecorded, and one line says so.
"""
import os

from plateau_trace.installation import find_plateau


def _library():
    plateau = find_plateau()
    if plateau is None:
        return None
    library = os.path.join(os.path.dirname(os.path.dirname(plateau)), "lib", "libplateau.so")
    return library if os.path.exists(library) else None


def runtime_env(out="plateau-out", hook=True, env_vars=None, **others):
    """A runtime_env of Ray with Plateau switched on. `out` may hold %h, %r, %j and %p; other entries are passed on as they are.

    With `hook` the start-up hook of `plateau run` is loaded too: it finds steps and ranks of torch that nothing else tells.
    """
    variables = dict(env_vars or {})
    library = _library()
    if library is None:
        print("plateau_trace.ray: libplateau.so is not here, so nothing is recorded; install a wheel of plateau-trace")
        return dict(others, env_vars=variables)
    preload = [word for word in (library, variables.get("LD_PRELOAD", "")) if word]
    variables["LD_PRELOAD"] = ":".join(preload)
    variables["PLATEAU_OUT"] = out if os.path.isabs(out) else os.path.abspath(out)
    site = os.path.join(os.path.dirname(library), "plateau", "python", "plateau_site")
    if hook and os.path.isdir(site):
        paths = [site, variables.get("PYTHONPATH") or os.environ.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = ":".join(path for path in paths if path)
    others.setdefault("worker_process_setup_hook", "plateau_trace.ray.note_place")
    return dict(others, env_vars=variables)


def note_place():
    """Says in the trace which node and job of Ray this worker is of, and later which actor. Ray calls it in each worker."""
    try:
        import ctypes

        info = ctypes.CDLL(None).plateau_site_info
    except (ImportError, OSError, AttributeError):
        return
    info.argtypes, info.restype = [ctypes.c_char_p, ctypes.c_char_p], None
    import ray

    context = ray.get_runtime_context()
    for key, get in (("job:job", context.get_job_id), ("job:ray_node", context.get_node_id), ("job:actor", context.get_actor_id)):
        try:
            value = get()
        except Exception:  # outside of a task or an actor there is none
            continue
        if value:
            info(key.encode(), str(value).encode())
