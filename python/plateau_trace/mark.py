"""Tells Plateau where the steps, epochs and phases of a program are.

    from plateau_trace import mark

    for batch in batches:
        train(batch)
        mark.step()

    with mark.phase("eval"):
        evaluate()

Most training loops need none of this: Plateau finds optimizer steps by itself. Explicit marks win over what it finds.
Without libplateau.so in the process every function does nothing and costs a function call. The file has no dependency
and may be copied into a project. Any thread; safe after fork().
"""
import contextlib
import ctypes

__all__ = ["step", "epoch", "phase", "note", "recording", "holders"]


def _no_recorder(_=None):
    return 0


def _find():
    """The recorder's functions; those of a process without it do nothing."""
    names = ("step", "epoch", "begin", "end", "note")
    try:
        process = ctypes.CDLL(None)
        found = {name: getattr(process, "plateau_mark_" + name) for name in names}
        found["is_recording"] = process.plateau_is_recording
    except (OSError, AttributeError, TypeError):
        return dict.fromkeys(names + ("is_recording",), _no_recorder)
    for name in names:
        found[name].argtypes = [ctypes.c_char_p]
        found[name].restype = None
    found["is_recording"].argtypes = []
    found["is_recording"].restype = ctypes.c_int
    return found


_recorder = _find()


def _find_holders():
    """The look needs the interpreter's lock, which ctypes.CDLL gives up for a call."""
    try:
        look = ctypes.PyDLL(None).plateau_mark_holders
    except (OSError, AttributeError, TypeError):
        return lambda: -1
    look.argtypes = []
    look.restype = ctypes.c_int
    return look


_look_for_holders = _find_holders()


def _text(value):
    return None if value is None else str(value).encode("utf-8", "surrogatepass")


def step(name=None):
    """A training step ends here."""
    _recorder["step"](_text(name))


def epoch(name=None):
    """A pass over the data ends here."""
    _recorder["epoch"](_text(name))


def note(text):
    """A line in the timeline."""
    _recorder["note"](_text(text))


def holders():
    """Looks now for the references that keep growing bytes alive: of how many objects they were found, -1 when nobody looked."""
    return _look_for_holders()


def recording():
    """True while this process is being recorded."""
    return bool(_recorder["is_recording"]())


class phase(contextlib.ContextDecorator):
    """A phase with a name, such as "eval" or "checkpoint": as `with phase("eval"):` or as a decorator."""

    def __init__(self, name):
        self._name = _text(name)

    def __enter__(self):
        _recorder["begin"](self._name)
        return self

    def __exit__(self, *_):
        _recorder["end"](self._name)
        return False
