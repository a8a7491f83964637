"""lightgbm.train with a callback that keeps the predictions of each round, or only the best one's. ok|leak|best"""
import sys, numpy as np, lightgbm as lgb
kind = sys.argv[1]; kept = []; best = [None]; rng = np.random.default_rng(0)
X = rng.random((4000, 12)); y = X[:, 0] * 3 + rng.random(4000)
def watch(env):
    if env.iteration % 2: return
    scores = env.model.predict(X)  # HOLD 32 kB
    if kind == "leak": kept.append(scores)
    if kind == "best": best[0] = scores
lgb.train({"objective": "regression", "verbose": -1, "num_threads": 1}, lgb.Dataset(X, y), num_boost_round=240, callbacks=[watch])
print("COUNT rounds=240")
