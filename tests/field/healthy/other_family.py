"""Healthy programs of other frameworks: `other_family.py KIND`."""
import os
import sys

import numpy as np

STEPS = int(os.environ.get("STEPS", 160))


def data(rows=640, width=32):
    random = np.random.default_rng(0)
    return random.standard_normal((rows, width)).astype("float32"), random.integers(0, 2, rows)


def jax_sgd():
    import jax
    import jax.numpy as jnp
    x, y = data()
    gradient = jax.jit(jax.grad(lambda w, x, y: jnp.mean((x @ w - y) ** 2)))
    w = jnp.zeros(x.shape[1])
    for step in range(STEPS * 4):
        w = w - 0.01 * gradient(w, x, y)


def keras_fit():
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import keras
    x, y = data()
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    model.fit(x, y, epochs=max(1, STEPS // 40), batch_size=16, verbose=0)


def xgboost_train():
    import xgboost
    x, y = data(4000)
    xgboost.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(x, y), STEPS)


def lightgbm_train():
    import lightgbm
    x, y = data(4000)
    lightgbm.train({"num_leaves": 15, "num_threads": 1, "verbose": -1}, lightgbm.Dataset(x, y), STEPS)


def sklearn_partial_fit():
    from sklearn.linear_model import SGDClassifier
    x, y = data(4000)
    model = SGDClassifier()
    for step in range(STEPS):
        model.partial_fit(x, y, classes=[0, 1])


def gymnasium_episodes():
    import gymnasium
    environment = gymnasium.make("CartPole-v1")
    for step in range(STEPS):
        environment.reset(seed=step)
        done = False
        while not done:
            _, _, done, cut, _ = environment.step(step % 2)
            done = done or cut


if __name__ == "__main__":
    globals()[sys.argv[1]]()
