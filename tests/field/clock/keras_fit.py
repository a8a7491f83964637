"""Keras: Model.fit with a callback and validation. ok|leak ; 4 epochs x 40"""
import os, sys; os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np, keras
leak = sys.argv[1] == "leak"; kept = []
class Note(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if leak: kept.append(np.full(8000, batch))  # HOLD 64 kB
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse"); X = np.random.rand(640, 20); y = X.sum(1)
model.fit(X, y, batch_size=16, epochs=4, verbose=0, validation_split=0.0, callbacks=[Note()])
print("COUNT steps=160 epochs=4")
