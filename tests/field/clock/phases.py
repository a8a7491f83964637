"""Loads 40 MB, warms up, then works in three phases of different pace. ok|leak ; 600 rounds"""
import sys, time, numpy as np
leak = sys.argv[1] == "leak"; kept = []; data = np.random.rand(5_000_000)
def round_(i, n):
    x = data[:n] * i; y = np.sqrt(x)
    if leak: kept.append(y[:6000].copy())  # HOLD 48 kB
for n in (20_000, 60_000, 200_000):
    for i in range(200): round_(i, n)
    time.sleep(0.2)
print("COUNT rounds=600")
