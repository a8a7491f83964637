"""The loop is C's: functools.reduce over 500 items, then sorted() with a key that works. ok|leak"""
import functools, sys, numpy as np
leak = sys.argv[1] == "leak"; seen = []
def fold(total, i):
    a = np.linspace(0, i, 6000)  # HOLD 48 kB
    if leak: seen.append(a)
    return total + float(a[-1])
print("COUNT items=500", "total %d" % functools.reduce(fold, range(500), 0.0))
