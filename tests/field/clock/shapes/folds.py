"""Five folds of four epochs of 60 batches; keeps predictions of each batch, or examples once a data set. ok|leak|cache"""
import sys, numpy as np
kind = sys.argv[1]; cache = {}; predictions = []
def load(i):
    if kind == "cache" and i in cache: return cache[i]
    x = np.full((50, 100), float(i))  # HOLD 40 kB
    if kind == "cache": cache[i] = x
    return x
def epoch(w, fold):
    for b in range(60):
        x = load(b); p = x @ w; w = w - 1e-6 * (x.T @ p) / 50
        full = np.repeat(p, 90)  # HOLD 36 kB
        if kind == "leak": predictions.append(full)
    return w
def train(fold):
    w = np.zeros(100)
    for e in range(4): w = epoch(w, fold)
for fold in range(5): train(fold)
print("COUNT steps=1200 epochs=20 folds=5")
