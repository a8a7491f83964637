"""joblib: 80 calls of Parallel over six chunks, in threads; the parent keeps every part, or their mean. ok|leak"""
import sys
import joblib
import numpy as np

kind = sys.argv[1]
parts = []


def resample(seed):
    rng = np.random.default_rng(seed)
    sample = rng.normal(size=4000)
    return np.sort(sample)  # HOLD 32 kB


mean = 0.0
with joblib.Parallel(n_jobs=2, backend="threading") as parallel:
    for number in range(80):
        answers = parallel(joblib.delayed(resample)(6 * number + k) for k in range(6))
        mean += float(np.mean([a.mean() for a in answers]))
        if kind == "leak":
            parts.extend(answers)
print("COUNT rounds=80 jobs=480")
