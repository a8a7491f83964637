"""A leak: a loss is kept for the log together with its graph, because nobody called item().

Expected verdict: leak
The activations of the line marked LEAK stay alive.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch import nn
from torch.utils.data import DataLoader

HIDDEN = 1024
PROBE = 64

truth = Truth()
model = classifier(64, HIDDEN)
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)
probe = torch.ones(PROBE, 64)
probe_labels = torch.zeros(PROBE, dtype=torch.long)
history = []

for epoch in range(3):
    for inputs, labels in loader:
        train_step(model, optimizer, inputs, labels)
        probe_loss = nn.functional.cross_entropy(model(probe), probe_labels)  # LEAK
        history.append(probe_loss)
        truth.steps += 1
    truth.epochs += 1

# Kept of each step: the linear layer's output inside ReLU's result, the logits' log-softmax, and small nodes.
truth.print(leak_bytes_per_step=PROBE * HIDDEN * 4 + PROBE * 10 * 4)
