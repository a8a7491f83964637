"""A loop that sleeps between its rounds, as a monitor does; keeps each reading in a list, or the last 20. ok|leak|last"""
import collections, sys, time, numpy as np
kind = sys.argv[1]; readings = [] if kind == "leak" else collections.deque(maxlen=20)
def read(i): return np.random.default_rng(i).random(4000)
def smooth(x): return np.convolve(x, np.ones(9) / 9, "same")  # HOLD 32 kB
for i in range(250):
    reading = smooth(read(i))
    if kind != "ok": readings.append(reading)
    time.sleep(0.008)
print("COUNT rounds=250")
