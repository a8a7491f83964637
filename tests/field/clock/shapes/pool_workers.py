"""multiprocessing.Pool with two forked workers, 400 jobs; a worker keeps each answer, or its last ten. ok|leak|last"""
import collections, multiprocessing, os, sys, numpy as np
kind = sys.argv[1]; kept = [] if kind == "leak" else collections.deque(maxlen=10)
def job(i):
    x = np.full(8000, float(i))
    y = np.sqrt(x) + 1  # HOLD 64 kB
    if kind != "ok": kept.append(y)
    return os.getpid()
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        jobs = collections.Counter(pool.imap_unordered(job, range(400)))
        pool.close(); pool.join()
    print("COUNT " + " ".join("jobs=%d" % n for n in jobs.values()))  # of each worker
