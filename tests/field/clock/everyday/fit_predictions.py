"""Keras fit: a callback predicts after each batch and keeps the activations, those of this epoch, or none. ok|leak|epoch"""
import os
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

kind = sys.argv[1]
x = np.random.rand(960, 20).astype("float32")
y = x.sum(axis=1, keepdims=True)
probe = x[:128]


class Probe(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_begin(self, epoch, logs=None):
        if kind == "epoch":
            self.seen.clear()

    def on_train_batch_end(self, batch, logs=None):
        hidden = np.tanh(probe @ self.model.layers[0].get_weights()[0])  # HOLD 32 kB
        if kind != "ok":
            self.seen.append(hidden)


model = keras.Sequential([keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, batch_size=32, epochs=5, verbose=0, callbacks=[Probe()])
print("COUNT batches=150 epochs=5")
