"""JAX: six epochs of 80 batches; keeps gradients of each step, device batches by their number, or none. ok|leak|batches"""
import sys
import jax
import jax.numpy as jnp
import numpy as np

kind = sys.argv[1]
history, cache = [], {}
rng = np.random.default_rng(0)
images = rng.random((2560, 120), dtype=np.float32)


@jax.jit
def step(w, x):
    loss, gradient = jax.value_and_grad(lambda v: jnp.mean((jnp.tanh(x @ v) - 0.5) ** 2))(w)
    return w - 0.1 * gradient, gradient, loss


def batch(i):
    if i in cache:
        return cache[i]
    x = jnp.asarray(images[32 * i:32 * i + 32])  # HOLD 15 kB
    if kind == "batches":
        cache[i] = x
    return x


w = jnp.asarray(rng.random((120, 64), dtype=np.float32))
for epoch in range(6):
    for i in range(80):
        w, gradient, loss = step(w, batch(i))  # HOLD 30 kB
        if kind == "leak":
            history.append(gradient)
    print("epoch", epoch, float(loss))
print("COUNT steps=480 epochs=6")
