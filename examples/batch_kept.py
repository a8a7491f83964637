"""A leak: each batch is appended to a list "for debugging".

Expected verdict: leak
The batch is allocated by the loader's loop and kept by the append; both lines are marked LEAK.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

WIDTH = 4096
BATCH = 32

truth = Truth()
model = classifier(WIDTH, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(Features(60 * BATCH, WIDTH), batch_size=BATCH, shuffle=True)
seen = []

for epoch in range(3):
    for inputs, labels in loader:  # LEAK
        train_step(model, optimizer, inputs, labels)
        seen.append(inputs)  # LEAK
        truth.steps += 1
    truth.epochs += 1

truth.print(leak_bytes_per_step=BATCH * WIDTH * 4)
