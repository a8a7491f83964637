"""Four threads in step at a barrier, 200 steps; each keeps its gradients, or none; the first averages. ok|leak"""
import sys
import threading
import numpy as np

kind = sys.argv[1]
STEPS, THREADS = 200, 4
barrier = threading.Barrier(THREADS)
shares = [None] * THREADS
weights = np.zeros(2600)
history = [[] for _ in range(THREADS)]


def train(rank):
    global weights
    rng = np.random.default_rng(rank)
    for step in range(STEPS):
        gradient = rng.normal(size=2600) - weights  # HOLD 21 kB
        shares[rank] = gradient
        barrier.wait()
        if rank == 0:
            weights = weights + 0.01 * sum(shares)
        if kind == "leak":
            history[rank].append(gradient)
        barrier.wait()


threads = [threading.Thread(target=train, args=(r,)) for r in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("COUNT steps=200 all=800")
