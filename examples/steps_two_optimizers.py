"""Two optimizers for two halves of a model, one backward pass.

Expected verdict: steady
"""

import torch
from support import Features, Truth, classifier
from torch import nn
from torch.utils.data import DataLoader

truth = Truth()
model = classifier()
body = torch.optim.AdamW(model[0].parameters())
head = torch.optim.SGD(model[2].parameters(), lr=0.01)
loader = DataLoader(Features(960), batch_size=16, shuffle=True)

for epoch in range(3):
    for inputs, labels in loader:
        body.zero_grad()
        head.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        body.step()
        head.step()
        truth.steps += 1
    truth.epochs += 1

truth.print()
