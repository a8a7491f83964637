"""A staircase: every evaluation keeps its predictions for a plot nobody draws.

Expected verdict: staircase
The line marked LEAK allocates what stays.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

CLASSES = 1024
EXAMPLES = 640


def evaluate(model, head, loader):
    model.eval()
    predictions = []
    with torch.no_grad():
        for inputs, labels in loader:
            predictions.append(head(model(inputs)))
    model.train()
    return torch.cat(predictions)  # LEAK


truth = Truth()
model = classifier()
head = torch.nn.Linear(10, CLASSES)
optimizer = torch.optim.AdamW(model.parameters())
train_loader = DataLoader(Features(1600), batch_size=16, shuffle=True)
test_loader = DataLoader(Features(EXAMPLES), batch_size=64)
curves = []

for epoch in range(2):
    for inputs, labels in train_loader:
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
        if truth.steps % 20 == 0:
            curves.append(evaluate(model, head, test_loader))
            truth.evaluations += 1
    truth.epochs += 1

truth.print(leak_bytes_per_evaluation=EXAMPLES * CLASSES * 4)
