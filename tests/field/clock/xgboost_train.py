"""xgboost.train with a callback. ok|leak ; 300 rounds"""
import sys, numpy as np, xgboost as xgb
leak = sys.argv[1] == "leak"; kept = []; X = np.random.default_rng(0).normal(size=(4000, 10)); y = (X[:, 0] > 0).astype(int)
class Note(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, log):
        if leak: kept.append(np.full(6000, epoch))  # HOLD 48 kB
        return False
xgb.train({"max_depth": 3, "nthread": 1, "objective": "binary:logistic"}, xgb.DMatrix(X, y), 300, callbacks=[Note()])
print("COUNT steps=300")
