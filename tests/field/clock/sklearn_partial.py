"""sklearn: partial_fit and predict in a loop. ok|leak|lru ; 500 rounds"""
import sys, functools, numpy as np
from sklearn.linear_model import SGDClassifier
kind = sys.argv[1]; rng = np.random.default_rng(0); kept = []; model = SGDClassifier()
@functools.lru_cache(maxsize=60)
def batch_of(i): return np.random.default_rng(i).normal(size=(200, 20))  # HOLD 32 kB, bounded
for i in range(500):
    x = batch_of(i % 80) if kind == "lru" else rng.normal(size=(200, 20))
    y = (x[:, 0] > 0).astype(int); model.partial_fit(x, y, classes=[0, 1])
    p = model.decision_function(x)
    if kind == "leak": kept.append(np.outer(p, p[:20]))  # HOLD 32 kB
print("COUNT rounds=500")
