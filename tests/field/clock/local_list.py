"""What stays is local to a function that returns before the program ends. ok|leak ; 300 rounds"""
import sys, numpy as np
leak = sys.argv[1] == "leak"
def train():
    kept = []; w = np.zeros(6000)
    for i in range(300):
        x = np.ones(6000) * i; w = w + x
        if leak: kept.append(x - w)  # HOLD 48 kB
    return float(w.sum())
total = train()
print("total", total); print("COUNT rounds=300")
