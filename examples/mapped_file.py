"""Every step writes its features into a mapped file: its pages count as resident memory, and no line of the program allocates them.

Expected verdict: untraced_growth
"""

import os
import tempfile

import numpy
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader
from torch.optim import AdamW

STEPS = 200
ROW = 131072  # numbers: 512 KiB a step

truth = Truth()
model = classifier()
optimizer = AdamW(model.parameters())
loader = DataLoader(Features(640), batch_size=16, shuffle=True)

with tempfile.TemporaryDirectory() as folder:
    features = numpy.memmap(os.path.join(folder, "features.bin"), dtype=numpy.float32, mode="w+", shape=(STEPS, ROW))
    for epoch in range(STEPS // 40):
        for inputs, labels in loader:
            train_step(model, optimizer, inputs, labels)
            features[truth.steps] = float(inputs.mean())
            truth.steps += 1
        truth.epochs += 1

truth.print()
