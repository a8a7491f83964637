"""For traced programs: allocations of recognisable sizes, and the stack sys._getframe() gives at that place."""
import atexit
import json
import os
import sys

EXPECTED = {}
DEEPER = ("...", "", 0)  # as the first frame: others may be on top of the rest
_next = [int(os.environ.get("TRUTH_FIRST", "1000003"))]
_pid = os.getpid()


def size():
    """A request size nothing else asks for."""
    _next[0] += 1117
    return _next[0]


def expect(n, skip=1):
    """Notes the caller's stack as that of the request of n bytes, and returns n."""
    frame, stack = sys._getframe(skip), []
    while frame is not None:
        code = frame.f_code
        stack.append((code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno))
        frame = frame.f_back
    EXPECTED[n] = stack
    return n


def grab(n):
    """A bytearray of n - 1 asks malloc for n bytes (3.15: and a header). Only for callers that expect this frame, too."""
    return bytearray(n - 1)


def save():
    if os.getpid() != _pid:
        return
    import ctypes
    with open(os.environ["TRUTH_OUT"], "w") as out:
        json.dump(EXPECTED, out)
    if hasattr(ctypes.CDLL(None), "probe_flush"):  # not under the shim itself
        ctypes.CDLL(None).probe_flush()


def save_at_exit():
    atexit.register(save)
