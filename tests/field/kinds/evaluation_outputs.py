"""An evaluation loop that keeps what it predicts: `evaluation_outputs.py KIND`. kept: over all evaluations. cleared: only until the end of each one."""
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
train = DataLoader(TensorDataset(torch.randn(32 * 30, 64)), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(torch.randn(64 * 12, 64)), batch_size=64)
predictions = []


@torch.no_grad()
def evaluate():
    model.eval()
    for (x,) in valid:
        predictions.append(model(x).softmax(-1))  # HERE
    score = torch.cat(predictions).mean().item()
    if sys.argv[1] == "cleared":
        predictions.clear()
    model.train()
    return score


for epoch in range(9):
    for (x,) in train:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    evaluate()
