"""Work that is handed to threads: `pools.py KIND`. kept: results are kept; the line that submits is to blame. dropped: none is."""
import concurrent.futures
import sys

import numpy as np

results = []


def render(number):
    return np.full(30_000, number, dtype=np.float32)  # WORK


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for number in range(400):
        future = pool.submit(render, number)  # SUBMIT
        if sys.argv[1] == "kept":
            results.append(future)
        future.result()
