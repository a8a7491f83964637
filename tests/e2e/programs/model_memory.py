"""A training run whose every byte of tensors is known: a trained part, a frozen part, Adam's two moments, data held in memory, and
batches that somebody keeps. Prints the truth as JSON.
"""
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
torch.set_num_threads(1)
STEPS_KEPT = 10

frozen = nn.Linear(512, 640, bias=False)
frozen.requires_grad_(False)
trained = nn.Sequential(nn.Linear(640, 384), nn.ReLU(), nn.Linear(384, 16))  # weights above 16 KiB: recorded exactly in every mode
data = TensorDataset(torch.zeros(640, 512), torch.zeros(640, dtype=torch.long))
optimizer = torch.optim.Adam(trained.parameters())
kept = []

for epoch in range(2):
    for inputs, labels in DataLoader(data, batch_size=16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(trained(frozen(inputs)), labels).backward()
        optimizer.step()
        if len(kept) < STEPS_KEPT:
            kept.append(inputs)


def bytes_of(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


state = [value for values in optimizer.state.values() for value in values.values() if torch.is_tensor(value)]
print(json.dumps({"truth": {
    "parameters": bytes_of(trained.parameters()),
    "gradients": bytes_of(parameter.grad for parameter in trained.parameters()),
    "optimizer state": bytes_of(state),
    "frozen weights, buffers or data": bytes_of([*frozen.parameters(), *data.tensors]),
    "batch data": bytes_of([*kept, inputs, labels]),  # the last batch is still in the loop's variables
}}))
