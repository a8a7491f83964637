"""Gradient accumulation: four batches to a step, and an epoch that four does not divide (the rest carries over).

Expected verdict: steady
"""

import torch
from support import Features, Truth, classifier
from torch import nn
from torch.utils.data import DataLoader

ACCUMULATION = 4

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(2 * 331), batch_size=2, shuffle=True)
batches = 0

for epoch in range(2):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels) / ACCUMULATION
        loss.backward()
        batches += 1
        if batches % ACCUMULATION == 0:
            optimizer.step()
            optimizer.zero_grad()
            truth.steps += 1
    truth.epochs += 1

truth.print(batches=batches)
