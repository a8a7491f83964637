"""Results of a compiled function: `compiled.py KIND`. kept: a hidden layer of every batch is kept. dropped: none is."""
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
encoder = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU())
head = torch.nn.Linear(512, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=1e-3)
features = []


@torch.compile
def encode(x):
    return encoder(x).relu()


for epoch in range(5):
    for (x,) in DataLoader(TensorDataset(torch.randn(32 * 40, 64)), batch_size=32):
        optimizer.zero_grad()
        hidden = encode(x)  # HERE
        head(hidden).square().mean().backward()
        optimizer.step()
        if sys.argv[1] == "kept":
            features.append(hidden.detach())
