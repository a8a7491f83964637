import ctypes, os, sys, threading, time
helper = ctypes.CDLL(os.environ["HELPER"])
helper.SpinMalloc.argtypes = [ctypes.c_double, ctypes.c_size_t]
def inside():
    return bytearray(3000000 - 1)
def daemon():
    helper.SpinMalloc(30.0, 24)
for _ in range(3):
    threading.Thread(target=daemon, daemon=True).start()
inside()
time.sleep(0.05)
