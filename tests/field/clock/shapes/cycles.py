"""Objects in reference cycles with arrays: the collector takes them from time to time, or it is switched off. ok|leak ; 1200 rounds"""
import gc, sys, numpy as np
if sys.argv[1] == "leak": gc.disable()
else: gc.set_threshold(120, 5, 5)
class Node:
    def __init__(self, i):
        self.values = np.full(5000, float(i)); self.me = self  # HOLD 40 kB
for i in range(1200): Node(i).values.sum()
print("COUNT rounds=1200")
