"""The simulation of docs/case-study.md as a real program: a processor makes 296.3 MiB of pixels for each batch, and the loop keeps
them or lets them go. 50 batches are one pass over the data; three passes are run, so that a leak and a cache can be told apart.

    simulation.py               every batch is kept
    simulation.py --released    every batch is released

Expected verdict: leak
Expected verdict with --released: steady
The line marked LEAK makes what is kept. Only a corner of each batch is written, so that 44 GiB of batches fit on a small machine:
a trace counts what was asked for, resident memory what was touched.
"""

import argparse

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

BATCH = 8
BATCHES = 50
BATCH_BYTES = int(296.3 * 2**20)

parser = argparse.ArgumentParser()
parser.add_argument("--released", action="store_true", help="let each batch go")
arguments = parser.parse_args()


def process_images(count):
    pixels = torch.empty(BATCH_BYTES, dtype=torch.uint8)  # LEAK
    pixels[: count * 64] = 1
    return pixels


truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(BATCHES * BATCH), batch_size=BATCH, shuffle=True)
kept = []

for epoch in range(3):
    for inputs, labels in loader:
        pixels = process_images(BATCH)
        train_step(model, optimizer, inputs + pixels[: BATCH * 64].view(BATCH, 64), labels)
        if not arguments.released:
            kept.append(pixels)
        truth.steps += 1
    truth.epochs += 1

truth.print(leak_bytes_per_step=0 if arguments.released else BATCH_BYTES)
