"""What the examples share: a small model, a small data set, and the program's own count of what it did.

Every example prints one JSON line at its end, {"truth": {"steps": ..., "epochs": ..., "evaluations": ...}}. Tests compare it
with what Plateau found from outside.
"""

import json

import torch
from torch import nn
from torch.utils.data import Dataset

torch.manual_seed(7)
torch.set_num_threads(1)


class Truth:
    """Counts what the program itself knows; `leak_bytes_per_step` and the like are added where they are known."""

    def __init__(self):
        self.steps = 0
        self.epochs = 0
        self.evaluations = 0
        self.checkpoints = 0

    def print(self, **more):
        counts = {key: value for key, value in vars(self).items()}
        print(json.dumps({"truth": {**counts, **more}}), flush=True)


class Features(Dataset):
    """`count` examples of `width` numbers and one of ten labels, made on demand and kept nowhere."""

    def __init__(self, count, width=64):
        self.count = count
        self.width = width

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return torch.full((self.width,), float(index % 7)), index % 10


def classifier(width=64, hidden=128):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def train_step(model, optimizer, inputs, labels):
    """One ordinary step; returns the loss as a number."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss.item()
