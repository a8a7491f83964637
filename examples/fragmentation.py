"""Fragmentation: a cache with a fixed budget in bytes, random eviction, and entries that grow as the sequences get longer. What
is alive stays flat; the holes that evicted entries leave are too small for the next ones, so the process grows.

Expected verdict: fragmentation (live flat, RSS grows; no call site retains)
"""

import random

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

BUDGET_BYTES = 96_000_000
FIRST_BYTES, LAST_BYTES = 2_000, 120_000
STEPS_PER_EPOCH = 60
EPOCHS = 5


class Cache:
    def __init__(self):
        self.entries = []
        self.bytes = 0

    def put(self, size):
        entry = torch.ones((size + random.randrange(size // 4)) // 4)
        self.entries.append(entry)
        self.bytes += entry.numel() * 4
        while self.bytes > BUDGET_BYTES:
            victim = random.randrange(len(self.entries))
            self.entries[victim], self.entries[-1] = self.entries[-1], self.entries[victim]
            self.bytes -= self.entries.pop().numel() * 4


random.seed(7)
truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(16 * STEPS_PER_EPOCH), batch_size=16, shuffle=True)

# Once a large block was freed, glibc takes blocks of these sizes from the heap instead of mapping each: true of any real run.
large = torch.empty(8_000_000)
del large

cache = Cache()
while cache.bytes < BUDGET_BYTES - 2 * FIRST_BYTES:
    cache.put(FIRST_BYTES)

for epoch in range(EPOCHS):
    for inputs, labels in loader:
        progress = truth.steps / (EPOCHS * STEPS_PER_EPOCH)
        size = int(FIRST_BYTES * (LAST_BYTES / FIRST_BYTES) ** progress)
        for _ in range(max(1, BUDGET_BYTES // 100 // size)):
            cache.put(size)
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
    truth.epochs += 1

truth.print(live_bytes=cache.bytes)
