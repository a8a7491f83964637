"""A leak that starts at step 100: from then on "hard" examples are copied and never dropped.

Expected verdict: leak, with its onset at step 100
The line marked LEAK allocates what stays.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

WIDTH = 2048
ONSET = 100

truth = Truth()
model = classifier(WIDTH, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(Features(50 * 32, WIDTH), batch_size=32, shuffle=True)
hard = []

for epoch in range(5):
    for inputs, labels in loader:
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
        if truth.steps > ONSET:
            hard.append(inputs[:16].clone())  # LEAK
    truth.epochs += 1

truth.print(leak_bytes_per_step=16 * WIDTH * 4, onset_step=ONSET)
