"""One thread allocates without the GIL, the other runs Python: their stacks must not mix."""
import ctypes
import os
import threading
import time

import truth

helper = ctypes.CDLL(os.environ["HELPER"])
helper.SpinMalloc.argtypes = [ctypes.c_double, ctypes.c_size_t]


def released():
    helper.SpinMalloc(0.03, 5000000)


def busy(stop):
    global rounds
    while not stop.is_set():
        bytearray(7000000)
        rounds += 1


rounds = 0
stop = threading.Event()
other = threading.Thread(target=busy, args=(stop,))
other.start()
# Both have run, whichever of them a busy machine runs first and for however long.
released()
while rounds < 3:
    released()
stop.set()
other.join()
truth.save()
