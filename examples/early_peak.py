"""A search over augmentations in the first epoch needs 200 MiB of small tensors and frees them; the allocator keeps the pages.

Expected verdict: allocator_retention
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

CANDIDATES = 8000
NUMBERS = 6400  # 25 KiB each: too small to be mapped, and so to be given back


def best_of_many(inputs):
    """Makes all candidates before it compares them. What it keeps of them lies between those that are freed."""
    kept, candidates = [], []
    for number in range(CANDIDATES):
        candidates.append(torch.full((NUMBERS,), float(number)))
        if number % 50 == 0:
            kept.append(inputs.mean())
    return max(candidates, key=lambda candidate: candidate[0].item()).sum(), kept


truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(640), batch_size=16, shuffle=True)
scores = []

for epoch in range(5):
    for inputs, labels in loader:
        if truth.steps == 15:
            scores.append(best_of_many(inputs))
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
    truth.epochs += 1

truth.print()
