"""multiprocessing: a parent takes 500 answers from imap_unordered; keeps all, the best 10, or none. ok|leak|best"""
import collections
import heapq
import multiprocessing
import os
import sys
import numpy as np

kind = sys.argv[1]


def simulate(seed):
    rng = np.random.default_rng(seed)
    return os.getpid(), float(rng.random()), np.cumsum(rng.normal(size=3000))


if __name__ == "__main__":
    kept, of_worker = [], collections.Counter()
    with multiprocessing.Pool(2) as pool:
        for number, (worker, score, path) in enumerate(pool.imap_unordered(simulate, range(500), chunksize=5)):
            of_worker[worker] += 1
            copy = path * 1.0  # HOLD 24 kB
            if kind == "leak":
                kept.append(copy)
            if kind == "best":
                heapq.heappush(kept, (score, number, copy))
                if len(kept) > 10:
                    heapq.heappop(kept)
    print("COUNT answers=500 chunks=100", *("worker=%d" % n for n in of_worker.values()))
