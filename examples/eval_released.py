"""Evaluation gathers all predictions to compute a metric and lets them go: a spike at every evaluation, no leak.

Expected verdict: spike_recovered
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

CLASSES = 2048


def evaluate(model, head, loader):
    model.eval()
    predictions = []
    with torch.no_grad():
        for inputs, labels in loader:
            predictions.append(head(model(inputs)))
    model.train()
    return torch.cat(predictions).argmax(1).float().mean().item()


truth = Truth()
model = classifier()
head = torch.nn.Linear(10, CLASSES)
optimizer = torch.optim.AdamW(model.parameters())
train_loader = DataLoader(Features(3200), batch_size=16, shuffle=True)
test_loader = DataLoader(Features(640), batch_size=64)

for inputs, labels in train_loader:
    train_step(model, optimizer, inputs, labels)
    truth.steps += 1
    if truth.steps % 20 == 0:
        evaluate(model, head, test_loader)
        truth.evaluations += 1
truth.epochs += 1

truth.print()
