"""Daemon threads allocate without the GIL while the interpreter is torn down slowly."""
import ctypes
import os
import threading
import time

helper = ctypes.CDLL(os.environ["HELPER"])
helper.SpinMalloc.argtypes = [ctypes.c_double, ctypes.c_size_t]


def deep(k):
    return deep(k - 1) if k else helper.SpinMalloc(5.0, 24)


for _ in range(8):
    threading.Thread(target=deep, args=(12,), daemon=True).start()


class Slow:
    def __del__(self, sleep=time.sleep):
        kept = [bytearray(600) for _ in range(2000)]
        sleep(0.2)
        kept = [bytearray(600) for _ in range(2000)]
        del kept


slow = Slow()
time.sleep(0.2)
