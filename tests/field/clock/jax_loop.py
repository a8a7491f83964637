"""JAX: a jitted step in a loop. ok|leak ; 400 rounds"""
import sys, numpy as np, jax, jax.numpy as jnp
leak = sys.argv[1] == "leak"; kept = []; w = jnp.zeros((64, 64))
@jax.jit
def step(w, x): return w - 0.01 * x.T @ (x @ w - 1), x @ w
for i in range(400):
    w, out = step(w, np.full((128, 64), i % 7, np.float32))
    if leak: kept.append(np.asarray(out) + 1)  # HOLD 32 kB
print("COUNT rounds=400")
