"""TensorFlow: GradientTape in a loop of the user's. ok|leak ; 160 steps"""
import os, sys; os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np, tensorflow as tf
leak = sys.argv[1] == "leak"; kept = []; w = tf.Variable(tf.zeros((64, 64)))
for i in range(160):
    x = tf.constant(np.full((128, 64), i % 5, np.float32))
    with tf.GradientTape() as tape: loss = tf.reduce_mean((x @ w - 1) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    if leak: kept.append((x @ w).numpy().repeat(2, 0))  # HOLD 64 kB
print("COUNT rounds=160")
