"""First-epoch cache: every image is decoded when it is first seen and kept. Memory grows straight through the first pass over
the data and stops dead at its end; twice the data would need twice the memory.

    image_cache.py          two epochs
    image_cache.py --cut    stopped at 80 % of the first epoch, where nobody can tell the cache from a leak

Expected verdict: cache_fill
Expected verdict with --cut: inconclusive
The line marked HOLDS owns the memory.
"""

import argparse

import torch
from support import Truth, train_step
from torch import nn
from torch.utils.data import DataLoader, Dataset

IMAGES = 1600
SIDE = 64
BATCH = 8


class LazyImages(Dataset):
    def __init__(self):
        self.decoded = {}

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        if index not in self.decoded:
            self.decoded[index] = decode(index)
        return self.decoded[index], index % 10


def decode(index):
    return torch.full((3, SIDE, SIDE), index / IMAGES)  # HOLDS


parser = argparse.ArgumentParser()
parser.add_argument("--cut", action="store_true", help="stop at 80 %% of the first epoch")
arguments = parser.parse_args()

truth = Truth()
model = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3 * (SIDE // 8) ** 2, 10))
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(LazyImages(), batch_size=BATCH, shuffle=True)
last_step = int(0.8 * len(loader)) if arguments.cut else 2 * len(loader)

while truth.steps < last_step:
    for inputs, labels in loader:
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
        if truth.steps == last_step and arguments.cut:
            break
    else:
        truth.epochs += 1

truth.print(steps_per_epoch=len(loader), plateau_bytes=IMAGES * 3 * SIDE * SIDE * 4)
