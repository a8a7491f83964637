"""concurrent.futures: 400 jobs in a pool of threads; the list of futures keeps their answers, or they are taken as they end. ok|leak"""
import concurrent.futures
import sys
import zlib

kind = sys.argv[1]
TEXT = bytes(range(256)) * 200


def pack(number):
    return zlib.compress(TEXT[number % 256:] * 3, 1) + bytes(20000)  # HOLD 21 kB


waiting = []
total = 0
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    for number in range(400):
        waiting.append(pool.submit(pack, number))
        if kind == "ok" and len(waiting) >= 6:
            total += len(waiting.pop(0).result())
        if kind == "leak" and number >= 6:
            total += len(waiting[number - 6].result())
print("COUNT jobs=400")
