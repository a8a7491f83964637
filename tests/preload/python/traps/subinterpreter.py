"""Allocations inside sub-interpreters: frames of one interpreter, never of a mixture."""
import threading

import truth

try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string

inner = interpreters.create()


def outer():
    run(inner, "def inside():\n    return bytearray(5000000 - 1)\n\ninside()\n")


outer()
n = truth.size(); truth.expect(n); bytearray(n - 1)
thread = threading.Thread(
    target=lambda: run(interpreters.create(), "def inside():\n    return bytearray(5000200 - 1)\n\ninside()\n"))
thread.start()
thread.join()
n = truth.size(); truth.expect(n); bytearray(n - 1)
truth.save()
