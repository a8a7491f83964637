"""A gradient scaler that finds an overflow throws the gradients away: a step of the loop without a step of the optimizer.

Expected verdict: steady
"""

import torch
from support import Features, Truth, classifier
from torch import nn
from torch.utils.data import DataLoader

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)
skipped = 0

for epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        has_overflow = truth.steps % 17 == 5
        if has_overflow:
            skipped += 1
        else:
            optimizer.step()
        truth.steps += 1
    truth.epochs += 1

truth.print(skipped=skipped)
