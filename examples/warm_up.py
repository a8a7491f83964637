"""Warm-up: a replay memory takes a new buffer in each of the first 40 steps and then uses them again.

Expected verdict: warmup_complete
The line marked HOLDS owns the memory that grows and then stays.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

CAPACITY = 40
BUFFER_NUMBERS = 256 * 1024  # 1 MiB

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)
memory = []

for epoch in range(4):
    for inputs, labels in loader:
        if len(memory) < CAPACITY:
            buffer = torch.zeros(BUFFER_NUMBERS)  # HOLDS
            memory.append(buffer)
        else:
            buffer = memory[truth.steps % CAPACITY]
        buffer[: inputs.numel()].copy_(inputs.flatten())
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
    truth.epochs += 1

truth.print(plateau_bytes=CAPACITY * BUFFER_NUMBERS * 4, plateau_step=CAPACITY)
