"""An optimizer class of one's own, and next() on an iterator that is made anew when it runs out.

Expected verdict: steady
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader


class SignDescent(torch.optim.Optimizer):
    def __init__(self, parameters, rate=1e-3):
        super().__init__(parameters, {"rate": rate})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad.sign(), alpha=group["rate"])


truth = Truth()
model = classifier()
optimizer = SignDescent(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)
batches = iter(loader)

while truth.steps < 200:
    try:
        inputs, labels = next(batches)
    except StopIteration:
        truth.epochs += 1
        batches = iter(loader)
        inputs, labels = next(batches)
    train_step(model, optimizer, inputs, labels)
    truth.steps += 1

truth.print()
