"""Retries with exceptions: tracebacks of failed tries are kept with their frames. ok|leak ; 600 tries"""
import sys, numpy as np
leak = sys.argv[1] == "leak"; failures = []
def fetch(i):
    buffer = np.full(6000, float(i))  # HOLD 48 kB
    if i % 3 == 0: raise ValueError("no answer %d" % i)
    return buffer[0]
for i in range(600):
    try:
        fetch(i)
    except ValueError as error:
        if leak: failures.append(error)
print("COUNT tries=600 failures=200")
