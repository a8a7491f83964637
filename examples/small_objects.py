"""A leak of small Python objects: a log record per example, each far below any sampling threshold.

Expected verdict: leak
The line marked LEAK allocates what stays.
"""

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

RECORDS = 1500

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)
log = []

for epoch in range(5):
    for inputs, labels in loader:
        loss = train_step(model, optimizer, inputs, labels)
        truth.steps += 1
        for index in range(RECORDS):
            log.append({"step": truth.steps, "index": index, "loss": loss + index, "note": f"example {index}"})  # LEAK
    truth.epochs += 1

truth.print(leak_objects_per_step=RECORDS)
