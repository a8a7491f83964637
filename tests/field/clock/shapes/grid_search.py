"""itertools.product over 300 settings, three folds each, fitted by least squares. ok|leak|best"""
import itertools, sys, numpy as np
kind = sys.argv[1]; rng = np.random.default_rng(0); X = rng.random((400, 30)); y = rng.random(400); results = []; best = None
for width, ridge, fold in itertools.product(range(5, 30), (0.1, 1.0, 10.0, 100.0), (0, 1, 2)):
    rows = np.arange(400) % 3 != fold; A = X[rows][:, :width]
    w = np.linalg.solve(A.T @ A + ridge * np.eye(width), A.T @ y[rows])
    predicted = np.tile(X[:, :width] @ w, 15)  # HOLD 48 kB
    error = float(((predicted[:400] - y) ** 2).mean())
    if kind == "leak": results.append((error, predicted))
    if kind == "best" and (best is None or error < best[0]): best = (error, predicted)
print("COUNT rounds=300 settings=100")
