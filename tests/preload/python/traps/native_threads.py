"""C code that starts threads which never run Python but allocate."""
import ctypes
import os

helper = ctypes.CDLL(os.environ["HELPER"])


def start_them():
    helper.CallBackFromThreads(ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p), 2, 3)


start_them()
