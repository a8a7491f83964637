"""A slow leak of 100 kB a step, under 300 MB of memory that comes and goes in every step.

Expected verdict: leak (or slow_leak)
The line marked LEAK allocates what stays.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

CHURN_BYTES = 300_000_000
LEAK_BYTES = 100_000

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)
statistics = []

for epoch in range(4):
    for inputs, labels in loader:
        for part in range(30):
            scratch = torch.empty(CHURN_BYTES // 30 // 4)
            scratch[::4096].fill_(part)
        del scratch
        train_step(model, optimizer, inputs, labels)
        statistics.append(torch.zeros(LEAK_BYTES // 4))  # LEAK
        truth.steps += 1
    truth.epochs += 1

truth.print(leak_bytes_per_step=LEAK_BYTES)
