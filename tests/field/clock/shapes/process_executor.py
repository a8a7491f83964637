"""ProcessPoolExecutor, spawned workers: the parent keeps the answers. ok|leak ; 250 jobs"""
import multiprocessing, sys, numpy as np
from concurrent.futures import ProcessPoolExecutor
def job(i): return np.full((70, 70), float(i))
if __name__ == "__main__":
    answers = []
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for answer in pool.map(job, range(250)):
            scaled = answer * 3  # HOLD 39 kB
            if sys.argv[1] == "leak": answers.append(scaled)
    print("COUNT jobs=250")
