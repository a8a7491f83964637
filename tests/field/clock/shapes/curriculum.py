"""Batches that become larger: 40 rounds of each size, 10 sizes. ok = nothing is kept but the last; leak|ok"""
import sys, numpy as np
leak = sys.argv[1] == "leak"; losses = []; last = None
def step(batch):
    x = np.random.rand(batch, 400); h = np.maximum(x @ np.ones((400, 30)), 0); return x, h
for size in range(10):
    for i in range(40):
        last, h = step(16 + 16 * size)
        if leak: losses.append(np.repeat(h.mean(0), 150))  # HOLD 36 kB
print("COUNT rounds=400 sizes=10")
