"""A healthy run: three epochs, an evaluation after each, nothing kept.

Expected verdict: steady
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
train_loader = DataLoader(Features(960), batch_size=16, shuffle=True)
test_loader = DataLoader(Features(160), batch_size=32)

for epoch in range(3):
    model.train()
    for inputs, labels in train_loader:
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
    truth.epochs += 1

    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, labels in test_loader:
            correct += (model(inputs).argmax(1) == labels).sum().item()
    truth.evaluations += 1

truth.print()
