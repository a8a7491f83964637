"""8 Python threads, native threads that call back, forks, code churn; every malloc walked, freed memory poisoned."""
import ctypes
import gc
import hashlib
import os
import random
import sys
import threading
import time
import zlib

helper = ctypes.CDLL(os.environ["HELPER"])
callback_type = ctypes.CFUNCTYPE(None, ctypes.c_int)
stop = time.time() + float(os.environ.get("SECONDS", "1"))


def numbers(n):
    for i in range(n):
        yield bytearray(600 + i)


def deep(k):
    return [bytearray(700)] if k == 0 else deep(k - 1)


def work(seed):
    choose = random.Random(seed)
    while time.time() < stop:
        deep(choose.randrange(40))
        list(numbers(20))
        sorted(range(50), key=lambda v: -len(bytearray(600 + v)))
        source = "def f(x):\n return [bytearray(%d)]\nf(1)" % choose.randrange(600, 900)
        exec(compile(source, "<s%d>" % choose.randrange(9), "exec"), {})
        zlib.compress(b"x" * 20000)
        hashlib.sha256(b"y" * 20000).hexdigest()


@callback_type
def back(_):
    deep(10)
    list(numbers(3))


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
for thread in threads:
    thread.start()
forks = 0
while time.time() < stop or forks < 2:
    helper.CallBackFromThreads(back, 4, 5)
    pid = os.fork()
    if pid == 0:
        deep(20)
        list(numbers(50))
        exec("x = [bytearray(800) for _ in range(100)]")
        gc.collect()
        if forks % 2:
            os._exit(0)
        raise SystemExit(0)
    forks += 1
    _, status = os.waitpid(pid, 0)
    if status:
        print("child ended with", status)
        sys.exit(3)
for thread in threads:
    thread.join()
values = (ctypes.c_uint64 * 9)()
if hasattr(ctypes.CDLL(None), "probe_statistics"):  # not under the shim itself
    ctypes.CDLL(None).probe_statistics(values)
print("forks", forks, "frames", values[1], "bad", values[5], "no_id", values[4])
