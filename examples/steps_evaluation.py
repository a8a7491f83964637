"""Evaluation every 25 steps inside the epochs, on two test sets, and a checkpoint every 50 steps.

    steps_evaluation.py [--workers N] [--persistent]

Expected verdict: steady
"""

import argparse
import os
import tempfile

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--persistent", action="store_true")
arguments = parser.parse_args()


def make_loader(count, **more):
    return DataLoader(Features(count), batch_size=16, num_workers=arguments.workers,
                      persistent_workers=arguments.persistent, **more)


def evaluate(model, loader):
    with torch.no_grad():
        for inputs, labels in loader:
            model(inputs)


truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
train_loader = make_loader(16 * 70, shuffle=True)
test_loaders = [make_loader(80), make_loader(48)]

with tempfile.TemporaryDirectory() as folder:
    for epoch in range(3):
        for inputs, labels in train_loader:
            train_step(model, optimizer, inputs, labels)
            truth.steps += 1
            if truth.steps % 25 == 0:
                model.eval()
                for test_loader in test_loaders:
                    evaluate(model, test_loader)
                model.train()
                truth.evaluations += 1
            if truth.steps % 50 == 0:
                torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
                torch.save(optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
                truth.checkpoints += 1
        truth.epochs += 1

truth.print()
