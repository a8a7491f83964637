"""scikit-learn: trees for 120 random settings; keeps every fitted model, or the best one. ok|leak|best"""
import sys
import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import ParameterSampler, train_test_split

kind = sys.argv[1]
rng = np.random.RandomState(0)
X = rng.rand(600, 8)
y = X[:, 0] + 0.1 * rng.rand(600)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
settings = {"max_depth": [6, 7, 8, 9], "min_samples_leaf": [1, 2, 3], "max_features": [2, 3, 4, 5]}
models, best = [], (-1.0, None)
for number, setting in enumerate(ParameterSampler(settings, 48, random_state=0)):
    for seed in range(3):
        model = ExtraTreesRegressor(n_estimators=8, random_state=seed, **setting)
        model.fit(X_train, y_train)  # HOLD
        score = model.score(X_test, y_test)
        if kind == "leak":
            models.append((score, model))
        if kind == "best" and score > best[0]:
            best = (score, model)
print("COUNT settings=48 fits=144")
