"""scipy drives: differential_evolution over a model with memory; each evaluation's field stays, those of 60 points, or none. ok|leak|lru"""
import functools
import sys
import numpy as np
from scipy.optimize import differential_evolution

kind = sys.argv[1]
calls = 0


def field(a, b):
    grid = np.linspace(0, 1, 4000)
    return np.exp(-((grid - a) ** 2) * 40) + b * grid  # HOLD 32 kB


if kind == "leak":
    field = functools.lru_cache(maxsize=None)(field)
if kind == "lru":
    field = functools.lru_cache(maxsize=60)(field)


def cost(p):
    global calls
    calls += 1
    return float(np.sum((field(float(p[0]), float(p[1])) - 0.7) ** 2))


result = differential_evolution(cost, [(0, 1), (0, 1)], maxiter=25, popsize=12, seed=1, polish=False, tol=0)
print("COUNT calls=%d trials=%d generations=%d" % (calls, calls - 24, result.nit))  # 24 are the first generation's
