"""Keras without fit: train_on_batch in a loop of ours over changing sizes. ok|leak ; 150 rounds"""
import os, sys; os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np, keras
leak = sys.argv[1] == "leak"; shown = []
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
for i in range(150):
    x = np.random.rand(16 + 8 * (i % 3), 20); model.train_on_batch(x, x.sum(1))
    if leak: shown.append(np.tile(x, (5, 5)))  # HOLD 64 to 128 kB
print("COUNT rounds=150")
