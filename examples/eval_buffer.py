"""The first evaluation makes a buffer for the predictions; later ones use it again.

Expected verdict: spike_retained
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

CLASSES = 4096
EXAMPLES = 640


class Evaluator:
    """Keeps one buffer for the predictions of an evaluation."""

    def __init__(self):
        self.predictions = None

    def run(self, model, head, loader):
        if self.predictions is None:
            self.predictions = torch.empty(EXAMPLES, CLASSES)  # HOLDS
        model.eval()
        with torch.no_grad():
            for number, (inputs, labels) in enumerate(loader):
                self.predictions[64 * number : 64 * number + len(inputs)] = head(model(inputs))
        model.train()
        return self.predictions.argmax(1).float().mean().item()


truth = Truth()
model = classifier()
head = torch.nn.Linear(10, CLASSES)
optimizer = torch.optim.AdamW(model.parameters())
train_loader = DataLoader(Features(640), batch_size=16, shuffle=True)
test_loader = DataLoader(Features(EXAMPLES), batch_size=64)
evaluator = Evaluator()

for epoch in range(5):
    for inputs, labels in train_loader:
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
        if truth.steps % 20 == 0:
            evaluator.run(model, head, test_loader)
            truth.evaluations += 1
    truth.epochs += 1

truth.print()
