"""A loop of one's own on accelerate: accelerated.py CASE FOLDER."""
import sys

import torch
from accelerate import Accelerator, skip_first_batches
from torch.utils.data import DataLoader

from truth import Stream, Truth, Vectors, classifier, kill

case, folder = sys.argv[1], sys.argv[2]
truth = Truth()
accelerator = Accelerator(cpu=True, gradient_accumulation_steps={"accumulation": 4, "leftover": 3}.get(case, 1))
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
data = Stream(40) if case == "iterable" else Vectors(40)
loader = DataLoader(data, batch_size=4, shuffle=case != "iterable")
model, optimizer, loader, valid = accelerator.prepare(model, optimizer, loader, DataLoader(Vectors(12), batch_size=4))
batches = 0
for epoch in range(3):
    model.train()
    resumed = case == "resume" and epoch == 0
    for x, y in skip_first_batches(loader, 6) if resumed else loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            if case == "killed_last" and truth.counts["steps"] == 29:
                kill()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            truth.add("steps")
    truth.add("epochs")
    if case != "plain":
        model.eval()
        with torch.no_grad():
            for x, y in valid:
                model(x)
        truth.add("evaluations")
    if case == "save":
        accelerator.save_state(folder + "/state")
        truth.add("checkpoints")
