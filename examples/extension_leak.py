"""A leak in a C++ extension: a tokenizer that keeps the text of every batch. Python sees nothing of it.

    extension_leak.py [PATH OF libleaky_tokenizer.so]

Expected verdict: leak
The line marked LEAK is in cpp/leaky_tokenizer.cc.
"""

import ctypes
import os
import sys

import torch
from support import Features, Truth, classifier, train_step
from torch.utils.data import DataLoader

here = os.path.dirname(os.path.abspath(__file__))
default = os.path.join(here, "..", "build", "dev", "examples", "libleaky_tokenizer.so")
tokenizer = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else default)
tokenizer.tokenize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
tokenizer.tokenize.restype = ctypes.c_size_t

TEXT = b"word " * 12_000  # 60 kB

truth = Truth()
model = classifier()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Features(960), batch_size=16, shuffle=True)

for epoch in range(3):
    for inputs, labels in loader:
        assert tokenizer.tokenize(TEXT, len(TEXT)) == 12_000
        train_step(model, optimizer, inputs, labels)
        truth.steps += 1
    truth.epochs += 1

truth.print(leak_bytes_per_step=len(TEXT))
