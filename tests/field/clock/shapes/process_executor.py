"""ProcessPoolExecutor, spawned workers: the parent keeps the answers. ok|leak ; 250 jobs"""
import collections, multiprocessing, os, sys, numpy as np
from concurrent.futures import ProcessPoolExecutor
def job(i): return os.getpid(), np.full((70, 70), float(i))
if __name__ == "__main__":
    answers = []; of_worker = collections.Counter()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for pid, answer in pool.map(job, range(250)):
            of_worker[pid] += 1
            scaled = answer * 3  # HOLD 39 kB
            if sys.argv[1] == "leak": answers.append(scaled)
    print("COUNT jobs=250", *("worker=%d" % n for n in of_worker.values()))
