"""Longer inputs later: the sequence length grows through the run, so each step needs more than the last one and gives all of it
back. The peak rises; what is alive at the end of a step does not.

Expected verdict: steady (the peak inside a step grows with its inputs)
"""

import torch
from support import Truth
from torch import nn

truth = Truth()
embedding = nn.Embedding(1000, 32)
mixer = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
head = nn.Linear(32, 10)
model = nn.ModuleList([embedding, mixer, head])
optimizer = torch.optim.AdamW(model.parameters())

for step in range(240):
    length = 16 + 2 * step
    tokens = torch.randint(0, 1000, (4, length))
    labels = torch.randint(0, 10, (4,))
    optimizer.zero_grad()
    logits = head(mixer(embedding(tokens)).mean(1))
    nn.functional.cross_entropy(logits, labels).backward()
    optimizer.step()
    truth.steps += 1

truth.print()
