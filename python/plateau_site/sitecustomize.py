"""Plateau's start-up hook for Python: what torch's own ranges do not say.

The launcher puts this folder first on PYTHONPATH. The hook waits for three torch modules and adds to them, when they are
imported,
  - the length and batch size of a DataLoader, when a pass over it begins (so that the length of an epoch is known before
    the first one ends),
  - model.train() and model.eval(),
  - the end of each optimizer step, which counts only where torch's ranges cannot be heard.
Nothing of torch is imported here, and nothing changes in a process without Plateau's library. `python -I`, `-E` and `-S`
never run this file. Another sitecustomize further down the path runs as if this one were not there.
"""

import os
import sys


def _run_the_next_sitecustomize():
    """Gives sys.path and the name `sitecustomize` back to whoever would have had them."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    this = sys.modules.pop("sitecustomize", None)
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        if this is not None:
            sys.modules["sitecustomize"] = this
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_STEP, _TRAIN_MODE, _OPTIMIZER_BEGIN, _NOTE = 1, 10, 11, 14  # trace::MarkKind


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
        try:
            mark(_NOTE, 0, _describe_loader(self).encode())
        except Exception:  # a data set without a length, or any surprise: the program must not notice
            pass
        return real_iter(self)

    module.DataLoader.__iter__ = __iter__


def _describe_loader(loader):
    words = ["loader"]
    try:
        words.append("batches=%d" % len(loader))
        words.append("examples=%d" % len(loader.dataset))
    except TypeError:
        pass
    batch_size = loader.batch_size
    if batch_size is None:
        batch_size = getattr(loader.batch_sampler, "batch_size", None)
    if isinstance(batch_size, int):
        words.append("batch_size=%d" % batch_size)
    words.append("workers=%d" % loader.num_workers)
    return " ".join(words)


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


_WATCHED = {
    "torch.optim.optimizer": _watch_optimizers,
    "torch.utils.data.dataloader": _watch_loaders,
    "torch.nn.modules.module": _watch_modes,
}


class _Watcher:
    """A finder that lets everybody else find, and looks at three modules after they ran."""

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
                    except Exception:  # another torch than expected: do without
                        pass

            spec.loader.exec_module = exec_module
        return spec


if os.environ.get("PLATEAU_STEPS", "1") != "0":
    sys.meta_path.insert(0, _Watcher())
_run_the_next_sitecustomize()
