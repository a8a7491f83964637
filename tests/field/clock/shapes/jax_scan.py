"""JAX: a jitted update with lax.scan inside, 300 calls; keeps the traces on the device. ok|leak"""
import sys, jax, jax.numpy as jnp
leak = sys.argv[1] == "leak"; traces = []
@jax.jit
def roll(w, key):
    def one(w, k): w = 0.9 * w + 0.1 * jax.random.normal(k, w.shape); return w, w
    return jax.lax.scan(one, w, jax.random.split(key, 16))
w = jnp.zeros(600); key = jax.random.PRNGKey(0)
for i in range(300):
    key, sub = jax.random.split(key); w, trace = roll(w, sub)  # HOLD 38 kB
    w.block_until_ready()
    if leak: traces.append(trace)
print("COUNT rounds=300")
