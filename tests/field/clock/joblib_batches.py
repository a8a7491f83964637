"""joblib: batches of jobs over two threads. ok|leak ; 120 batches"""
import sys, numpy as np
from joblib import Parallel, delayed
leak = sys.argv[1] == "leak"; kept = []
def work(i): return np.ones((100, 100)) * i
with Parallel(n_jobs=2, prefer="threads") as pool:
    for b in range(120):
        out = pool(delayed(work)(i) for i in range(4))
        if leak: kept.append(sum(out))  # HOLD 80 kB
print("COUNT rounds=120 jobs=480")
