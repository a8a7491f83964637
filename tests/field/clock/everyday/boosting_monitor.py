"""xgboost: a callback watches the margins after each round; keeps all, the last 5, or none. ok|leak|last"""
import sys
import numpy as np
import xgboost as xgb

kind = sys.argv[1]
rng = np.random.default_rng(0)
X = rng.random((3000, 10))
data = xgb.DMatrix(X, label=(X[:, 0] > 0.5).astype(float))


class Monitor(xgb.callback.TrainingCallback):
    def __init__(self):
        self.margins = []

    def after_iteration(self, model, epoch, evals_log):
        margin = model.predict(data, output_margin=True).astype(np.float64)  # HOLD 24 kB
        if kind != "ok":
            self.margins.append(margin)
        if kind == "last" and len(self.margins) > 5:
            self.margins.pop(0)
        return False


xgb.train({"max_depth": 3, "objective": "binary:logistic", "nthread": 1}, data, num_boost_round=250, callbacks=[Monitor()])
print("COUNT rounds=250")
