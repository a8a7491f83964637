"""torch.utils.checkpoint: the forward pass runs again inside the backward pass, which calls the autograd engine from within.

Expected verdict: steady
"""

import torch
from support import Features, Truth, classifier
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

truth = Truth()
stem = nn.Linear(64, 64)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(3))
head = classifier()
model = nn.ModuleList([stem, blocks, head])
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)

for epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        hidden = stem(inputs)
        for block in blocks:
            hidden = checkpoint(block, hidden)
        nn.functional.cross_entropy(head(hidden), labels).backward()
        optimizer.step()
        truth.steps += 1
    truth.epochs += 1

truth.print()
