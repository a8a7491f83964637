"""scikit-learn drives: cross_val_score over an estimator of ours; the estimator logs what it predicted. ok|leak ; 40 x 5 fits"""
import sys, numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import cross_val_score
leak = sys.argv[1] == "leak"; log = []; rng = np.random.default_rng(0); X = rng.random((300, 20)); y = X.sum(1)
class Ridge(RegressorMixin, BaseEstimator):
    def __init__(self, alpha=1.0): self.alpha = alpha
    def fit(self, X, y): self.w_ = np.linalg.solve(X.T @ X + self.alpha * np.eye(20), X.T @ y); return self
    def predict(self, X):
        p = X @ self.w_
        if leak: log.append(np.repeat(p, 100))  # HOLD 48 kB
        return p
for alpha in np.linspace(0.1, 4, 40): cross_val_score(Ridge(alpha), X, y, cv=5)
print("COUNT settings=40 fits=200")
