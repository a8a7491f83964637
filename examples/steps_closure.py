"""L-BFGS: the optimizer calls the model itself, several backward passes inside one step; no DataLoader, so no epochs.

Expected verdict: steady
"""

import torch
from support import Truth, classifier
from torch import nn

truth = Truth()
model = classifier()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
inputs = torch.ones(16, 64)
labels = torch.zeros(16, dtype=torch.long)


def closure():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    return loss


for _ in range(150):
    optimizer.step(closure)
    truth.steps += 1

truth.print()
