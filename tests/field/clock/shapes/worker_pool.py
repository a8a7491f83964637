"""multiprocessing.Pool of two workers, 400 jobs in chunks; a worker keeps what it made in a global. ok|leak|cache"""
import multiprocessing, os, sys, numpy as np
kind = sys.argv[1]; kept = []; tables = {}
def job(i):
    a = np.random.rand(80, 80); b = a @ a  # HOLD 51 kB
    if kind == "leak": kept.append(b)
    if kind == "cache" and i % 25 not in tables: tables[i % 25] = b
    return os.getpid()
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool: by = list(pool.imap(job, range(400), chunksize=5))
    print("COUNT", *("worker=%d" % by.count(pid) for pid in set(by)))
