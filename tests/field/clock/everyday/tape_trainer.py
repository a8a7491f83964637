"""TensorFlow: a trainer class with a GradientTape, evaluation each 40 steps; keeps the gradients, or none. ok|leak"""
import os
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

kind = sys.argv[1]


class Trainer:
    def __init__(self):
        self.w1 = tf.Variable(tf.random.normal((50, 100)))
        self.w2 = tf.Variable(tf.random.normal((100, 1)))
        self.norms = []

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ self.w1) @ self.w2 - y) ** 2)
        gradients = tape.gradient(loss, [self.w1, self.w2])  # HOLD 20 kB
        for variable, gradient in zip((self.w1, self.w2), gradients):
            variable.assign_sub(0.001 * gradient)
        if kind == "leak":
            self.norms.append(gradients)
        return loss

    def evaluate(self, x, y):
        return float(tf.reduce_mean((tf.tanh(x @ self.w1) @ self.w2 - y) ** 2))


data = np.random.rand(2000, 50).astype("float32")
target = data.sum(axis=1, keepdims=True)
trainer = Trainer()
for number in range(320):
    rows = np.random.randint(0, 2000, 64)
    trainer.step(data[rows], target[rows])
    if number % 40 == 39:
        trainer.evaluate(data, target)
print("COUNT steps=320 evaluations=8")
