"""Changing batch sizes; a cache of 64 shapes fills and stays. ok|leak|shapes ; 800 rounds"""
import sys, random, numpy as np
kind = sys.argv[1]; random.seed(0); kept = []; shapes = {}
for i in range(800):
    n = random.randrange(1, 65) * 100; x = np.ones((n, 8)) * i; y = x.T @ x
    if kind == "shapes" and n not in shapes: shapes[n] = np.zeros(8000)  # HOLD 64 kB, bounded
    if kind == "leak": kept.append(np.tile(y, (8, 8)))  # HOLD 32 kB
print("COUNT rounds=800")
