"""scipy.optimize calls the work: a callback keeps the path. ok|leak ; the optimizer decides how many"""
import sys, numpy as np
from scipy import optimize
leak = sys.argv[1] == "leak"; path = []; calls = 0
def cost(x):
    global calls; calls += 1
    return float((100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
def note(x):
    smooth = np.outer(x, x)  # HOLD 51 kB
    if leak: path.append(smooth)
result = optimize.minimize(cost, np.full(80, 0.5), method="CG", callback=note, options={"maxiter": 300, "gtol": 1e-12})
print("COUNT iterations=%d" % result.nit)
