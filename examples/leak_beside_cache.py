"""A leak that hides beside a larger cache fill: the images of the first epoch are kept (bounded), and so is a small piece of
every step (not bounded). The cache is what one sees; the leak is what ends the run.

Expected verdict: leak, and a cache_fill beside it
"""

import torch
from support import Truth, train_step
from torch import nn
from torch.utils.data import DataLoader, Dataset

IMAGES = 800
SIDE = 96
BATCH = 8
LEAK_BYTES = 120_000


class LazyImages(Dataset):
    def __init__(self):
        self.decoded = {}

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        if index not in self.decoded:
            self.decoded[index] = torch.full((3, SIDE, SIDE), index / IMAGES)  # HOLDS
        return self.decoded[index], index % 10


truth = Truth()
model = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3 * (SIDE // 8) ** 2, 10))
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(LazyImages(), batch_size=BATCH, shuffle=True)
attention_maps = []

for epoch in range(3):
    for inputs, labels in loader:
        train_step(model, optimizer, inputs, labels)
        attention_maps.append(torch.zeros(LEAK_BYTES // 4))  # LEAK
        truth.steps += 1
    truth.epochs += 1

truth.print(leak_bytes_per_step=LEAK_BYTES, plateau_bytes=IMAGES * 3 * SIDE * SIDE * 4)
