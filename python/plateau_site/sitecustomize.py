"""Plateau's start-up hook for Python: what torch's own ranges do not say.

The launcher puts this folder first on PYTHONPATH. The hook waits for a few modules and adds to them, when they are
imported,
  - the length and batch size of a DataLoader, when a pass over it begins (so that the length of an epoch is known before
    the first one ends, and which fetches belong to the pass),
  - model.train() and model.eval(),
  - the end of each optimizer step, which counts only where torch's ranges cannot be heard,
  - checkpoints in the format of safetensors,
  - where Lightning checks its validation loop before it trains, which is no evaluation,
  - the rank of this process and the groups it is in, when torch.distributed is told,
  - the number and the text of each cell of a notebook, which has no file to read it from,
and for frameworks that have no such ranges, where their steps end: rounds of boosting of XGBoost and LightGBM, batches, epochs and
evaluations of Keras.
Nothing of them is imported here, and nothing changes in a process without Plateau's library. `python -I`, `-E` and `-S`
never run this file. Another sitecustomize further down the path runs as if this one were not there.
"""

import os
import sys


def _run_the_next_sitecustomize():
    """Gives sys.path and the name `sitecustomize` back to whoever would have had them."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    try:
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec
    except ImportError:  # Python 2
        _run_the_next_of_python2()
        return

    this = sys.modules.pop("sitecustomize", None)
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        if this is not None:
            sys.modules["sitecustomize"] = this
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _run_the_next_of_python2():
    import imp

    this = sys.modules.pop("sitecustomize", None)
    try:
        found = imp.find_module("sitecustomize", sys.path)
    except ImportError:
        if this is not None:
            sys.modules["sitecustomize"] = this
        return
    try:
        imp.load_module("sitecustomize", *found)
    finally:
        if found[0] is not None:
            found[0].close()


def _is_known_interpreter():
    """Everywhere else this file changes nothing: it only makes way for the next sitecustomize. Every Python since 2.6 must be able
    to read the file for that."""
    implementation = getattr(sys, "implementation", None)
    return getattr(implementation, "name", "") == "cpython" and sys.version_info >= (3, 8)


_STEP, _EPOCH, _PHASE_BEGIN, _PHASE_END, _TRAIN_MODE, _OPTIMIZER_BEGIN, _NOTE = 1, 2, 3, 4, 10, 11, 14  # trace::MarkKind


def _find_mark():
    """The function of libplateau.so that takes our marks, or None."""
    try:
        import ctypes

        mark = ctypes.CDLL(None).plateau_site_mark
        mark.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p]
        mark.restype = None
        return mark
    except (ImportError, OSError, AttributeError):
        return None


def _find_info():
    """The function of libplateau.so that takes what is known of this process's place in its job, or None."""
    try:
        import ctypes

        info = ctypes.CDLL(None).plateau_site_info
        info.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        info.restype = None
        return info
    except (ImportError, OSError, AttributeError):
        return None


def _then(module, function, tell):
    """Calls tell(result, info) after each call of a function of a module that returns."""
    import functools

    real, info = getattr(module, function, None), _find_info()
    if real is None or info is None:
        return

    @functools.wraps(real)
    def wrapper(*args, **kwargs):
        result = real(*args, **kwargs)
        try:
            tell(result, info)
        except Exception:  # another version than expected: the program must not notice
            pass
        return result

    setattr(module, function, wrapper)


def _watch_ranks(module, mark):
    """Ranks that no variable of the environment tells: mp.spawn passes them as an argument."""
    def tell(_, info):
        info(b"job:rank", b"%d" % module.get_rank())
        info(b"job:world", b"%d" % module.get_world_size())

    _then(module, "init_process_group", tell)


def _watch_meshes(module, mark):
    """The groups of data, tensor and pipeline parallelism, as a mesh of devices names them."""
    def tell(mesh, info):
        place, sizes = mesh.get_coordinate(), tuple(mesh.mesh.shape)
        names = mesh.mesh_dim_names or ["dim%d" % i for i in range(len(sizes))]
        if place is not None:
            words = ["%s=%d/%d" % (name, index, size) for name, index, size in zip(names, place, sizes)]
            info(b"job:group", " ".join(words).encode())

    _then(module, "init_device_mesh", tell)


def _watch_optimizers(module, mark):
    def after_step(optimizer, *_):
        mark(_STEP, 0, type(optimizer).__name__.encode())

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(after_step)
        return
    # Older torch: every optimizer's class gets its step wrapped on construction; wrap once more, around that.
    optimizer_class = module.Optimizer
    hook_for_profile = optimizer_class._hook_for_profile

    def _hook_for_profile(self):
        hook_for_profile(self)
        step = type(self).step
        if getattr(step, "plateau", False):
            return
        import functools

        @functools.wraps(step)
        def wrapper(*args, **kwargs):
            result = step(*args, **kwargs)
            after_step(self if not args else args[0])
            return result

        wrapper.plateau = True
        wrapper.hooked = True
        type(self).step = wrapper

    optimizer_class._hook_for_profile = _hook_for_profile


def _watch_loaders(module, mark):
    import functools

    real_iter = module.DataLoader.__iter__

    @functools.wraps(real_iter)
    def __iter__(self):
        iterator = real_iter(self)
        try:
            mark(_NOTE, id(iterator), _describe_loader(self).encode())
        except Exception:  # any surprise: the program must not notice
            pass
        return iterator

    module.DataLoader.__iter__ = __iter__


def _describe_loader(loader):
    words = ["loader"]
    for word, sized in (("batches", loader), ("examples", loader.dataset)):
        try:
            words.append("%s=%d" % (word, len(sized)))
        except (TypeError, NotImplementedError):  # it has no length
            pass
    batch_size = loader.batch_size
    batches = loader.batch_sampler
    while batch_size is None and batches is not None:  # accelerate wraps samplers in samplers
        batch_size = getattr(batches, "batch_size", None)
        batches = getattr(batches, "batch_sampler", None)
    if isinstance(batch_size, int):
        words.append("batch_size=%d" % batch_size)
    words.append("workers=%d" % loader.num_workers)
    words.append("dataset=%d" % id(loader.dataset))
    order = _order_of(loader)
    if order is not None:
        words.append("order=%s" % order)
    # A run that goes on from a checkpoint leaves out what the pass had already brought (accelerate's samplers and loaders).
    for part in (loader.batch_sampler, loader):
        skipped = getattr(part, "skip_batches", 0)
        if isinstance(skipped, int) and skipped > 0:
            words.append("skipped=%d" % skipped)
            break
    return " ".join(words)


def _order_of(loader):
    """How the examples of a pass are chosen: in order, each once in any order, or drawn with replacement. None: the data set
    itself decides."""
    if loader.batch_sampler is None or not hasattr(loader.dataset, "__getitem__") or type(loader.sampler).__name__ == "_InfiniteConstantSampler":
        return None
    batches = loader.batch_sampler
    while getattr(batches, "batch_sampler", None) is not None:  # accelerate wraps samplers in samplers
        batches = batches.batch_sampler
    sampler = getattr(batches, "sampler", None) or loader.sampler
    if getattr(sampler, "replacement", False):
        return "drawn"
    return "kept" if type(sampler).__name__ == "SequentialSampler" else "shuffled"


def _watch_safetensors(module, mark):
    """Checkpoints that are not written by torch's archive writer."""
    import functools

    def watch(name):
        real_save = getattr(module, name)

        @functools.wraps(real_save)
        def save(*args, **kwargs):
            mark(_PHASE_BEGIN, 0, b"checkpoint")
            try:
                return real_save(*args, **kwargs)
            finally:
                mark(_PHASE_END, 0, b"checkpoint")

        setattr(module, name, save)

    watch("save_file")


def _watch_modes(module, mark):
    import functools
    import threading

    real_train = module.Module.train
    state = threading.local()

    @functools.wraps(real_train)
    def train(self, mode=True):
        if getattr(state, "is_inside", False):  # a submodule
            return real_train(self, mode)
        state.is_inside = True
        try:
            mark(_TRAIN_MODE, 1 if mode else 0, None)
            return real_train(self, mode)
        finally:
            state.is_inside = False

    module.Module.train = train


def _mark_after(owner, method, mark, kind, name, state=None):
    """Marks each call of a method that returns. With `state`, calls from inside another one are part of that one."""
    import functools

    real = getattr(owner, method, None)
    if real is None:
        return
    name = name.encode()

    @functools.wraps(real)
    def wrapper(*args, **kwargs):
        if state is None:
            result = real(*args, **kwargs)
        elif getattr(state, "is_inside", False):
            return real(*args, **kwargs)
        else:
            state.is_inside = True
            try:
                result = real(*args, **kwargs)
            finally:
                state.is_inside = False
        mark(kind, 0, name)
        return result

    setattr(owner, method, wrapper)


def _watch_xgboost(module, mark):
    import threading

    state = threading.local()  # update() with an objective of the user's calls boost()
    _mark_after(module.Booster, "update", mark, _STEP, "xgboost.Booster", state)
    _mark_after(module.Booster, "boost", mark, _STEP, "xgboost.Booster", state)


def _watch_lightgbm(module, mark):
    _mark_after(module.Booster, "update", mark, _STEP, "lightgbm.Booster")


def _watch_keras(module, mark):
    callbacks = getattr(module, "CallbackList", None)
    if callbacks is None or callbacks.__module__ != module.__name__:  # defined in a module of its own, which is watched
        return
    _mark_after(callbacks, "on_train_batch_end", mark, _STEP, "keras.Model.fit")
    _mark_after(callbacks, "on_epoch_end", mark, _EPOCH, "keras.Model.fit")
    _mark_after(callbacks, "on_test_begin", mark, _PHASE_BEGIN, "evaluation")
    _mark_after(callbacks, "on_test_end", mark, _PHASE_END, "evaluation")


def _without_secrets(code):
    """A text of Python without the strings that are given to names like token or api_key, and without what looks like a key."""
    import re

    name = r"(?i)(\b[\w.]*(?:token|secret|password|passwd|passphrase|api_?key|access_?key|credentials?)[\"']?\]?\s*[=:,]\s*)([\"'])[^\"'\n]+\2"
    code = re.sub(name, r"\1\2***\2", code)
    return re.sub(r"\b(sk-|hf_|gh[pous]_|github_pat_|glpat-|xox[abp]-|AKIA)[\w-]{16,}", r"\1***", code)


def _watch_cells(module, mark):
    """Cells of a notebook have no file: their numbers and texts are noted when IPython gives them a name."""
    import functools

    real_cache = module.CachingCompiler.cache

    @functools.wraps(real_cache)
    def cache(self, transformed_code, number=0, *args, **kwargs):
        name = real_cache(self, transformed_code, number, *args, **kwargs)
        try:
            mark(_NOTE, int(number), ("cell %s\n%s" % (name, _without_secrets(transformed_code))).encode()[:4000])
        except Exception:  # a text that cannot be encoded: the cell must run
            pass
        return name

    module.CachingCompiler.cache = cache


def _watch_sanity_check(module, mark):
    import functools

    real_check = module.Trainer._run_sanity_check

    @functools.wraps(real_check)
    def _run_sanity_check(self, *args, **kwargs):
        mark(_PHASE_BEGIN, 0, b"sanity check")
        try:
            return real_check(self, *args, **kwargs)
        finally:
            mark(_PHASE_END, 0, b"sanity check")

    module.Trainer._run_sanity_check = _run_sanity_check


_WATCHED = {
    "IPython.core.compilerop": _watch_cells,
    "torch.distributed.distributed_c10d": _watch_ranks,
    "torch.distributed.device_mesh": _watch_meshes,
    "torch.optim.optimizer": _watch_optimizers,
    "torch.utils.data.dataloader": _watch_loaders,
    "torch.nn.modules.module": _watch_modes,
    "xgboost.core": _watch_xgboost,
    "lightgbm.basic": _watch_lightgbm,
    "keras.src.callbacks.callback_list": _watch_keras,  # Keras 3
    "keras.src.callbacks": _watch_keras,  # 2.13 to 2.15
    "keras.callbacks": _watch_keras,  # before
    "safetensors.torch": _watch_safetensors,
    "lightning.pytorch.trainer.trainer": _watch_sanity_check,
    "pytorch_lightning.trainer.trainer": _watch_sanity_check,
}


class _Watcher:
    """A finder that lets everybody else find, and looks at some modules after they ran."""

    def find_spec(self, name, path=None, target=None):
        watch = _WATCHED.get(name)
        if watch is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                mark = _find_mark()
                if mark is not None:
                    try:
                        watch(module, mark)
                    except Exception:  # another version than expected: do without
                        pass

            spec.loader.exec_module = exec_module
        return spec


def _count_loop_rounds():
    """Off unless asked for: `plateau run --loop-rounds`."""
    mark = _find_mark()
    if mark is None:
        return
    try:
        from importlib.util import module_from_spec, spec_from_file_location

        file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plateau_loop_rounds.py")
        spec = spec_from_file_location("plateau_loop_rounds", file)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.start(mark)
    except Exception:  # the program runs without
        pass


if _is_known_interpreter() and os.environ.get("PLATEAU_STEPS", "1") != "0":
    sys.meta_path.insert(0, _Watcher())
    if os.environ.get("PLATEAU_LOOP_ROUNDS") == "1" and sys.version_info >= (3, 12):
        _count_loop_rounds()
_run_the_next_sitecustomize()
