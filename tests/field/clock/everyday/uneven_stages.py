"""30 outer rounds, each with a cheap loop of 40, a dear one of 3 and a report; the report of each stays, or none. ok|leak"""
import sys
import numpy as np

kind = sys.argv[1]
reports = []


def cheap(x):
    for _ in range(40):
        x = np.roll(x, 1) + 0.5
    return x


def dear(x):
    for _ in range(3):
        m = np.outer(x[:700], x[:700])
        x = x + m.sum() * 1e-12
    return x


def report(x):
    return {"rows": np.repeat(x[:500], 30), "mean": float(x.mean())}  # HOLD 120 kB


x = np.ones(6000)
for number in range(90):
    x = cheap(x)
    x = dear(x)
    summary = report(x)
    if kind == "leak":
        reports.append(summary)
print("COUNT rounds=90 cheap=3600 dear=270")
