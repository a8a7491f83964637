"""lightgbm.train with a callback. ok|leak ; 300 rounds"""
import sys, numpy as np, lightgbm as lgb
leak = sys.argv[1] == "leak"; kept = []; X = np.random.default_rng(0).normal(size=(4000, 10)); y = (X[:, 0] > 0).astype(int)
def note(env):
    if leak: kept.append(np.full(6000, env.iteration))  # HOLD 48 kB
lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 7}, lgb.Dataset(X, y), num_boost_round=300, callbacks=[note])
print("COUNT steps=300")
