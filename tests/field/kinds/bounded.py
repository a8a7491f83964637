"""Growth with an end: `bounded.py KIND`. random_keys: a cache over 400 keys that are drawn. ring: a buffer of fixed size is filled. vocabulary: new words become rare.
longer: sequences get longer, nothing stays. prefetch: a queue that is full early."""
import collections
import queue
import random
import sys

import numpy as np
import torch

torch.set_num_threads(1)
random.seed(0)
kind = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
cache, ring, words, ready = {}, collections.deque(maxlen=250), {}, queue.Queue(maxsize=64)
for step in range(700):
    if kind == "random_keys":
        key = random.randrange(400)
        if key not in cache:
            cache[key] = np.full(8_000, key, dtype=np.float64)  # HERE
    elif kind == "ring":
        ring.append(np.full(8_000, step, dtype=np.float64))  # HERE
    elif kind == "vocabulary":
        for _ in range(20):
            word = int(random.paretovariate(0.7))
            if word < 2_000 and word not in words:
                words[word] = np.zeros(2_000)  # HERE
    elif kind == "prefetch":
        while not ready.full():
            ready.put(np.ones(8_000))  # HERE
        ready.get()
    rows = 16 + step // 4 if kind == "longer" else 16
    optimizer.zero_grad()
    model(torch.randn(rows, 128)).square().mean().backward()
    optimizer.step()
