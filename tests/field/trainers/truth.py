"""What the programs of this folder share: tiny data and models, and the truth they write about themselves.

The truth goes to the file $TRUTH after every change, so that a killed program has left it too.
"""
import json
import os
import signal

import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset


class Truth:
    """Counts of what the program did: steps that ended, epochs that were completed, evaluations, checkpoints."""

    def __init__(self):
        self.counts = {"steps": 0, "epochs": 0, "evaluations": 0, "checkpoints": 0}
        self.write()

    def add(self, name, count=1):
        self.counts[name] += count
        self.write()

    def set(self, **values):
        self.counts.update(values)
        self.write()

    def write(self):
        path = os.environ.get("TRUTH")
        if path:
            with open(path, "w") as out:
                json.dump(self.counts, out)


def kill():
    """The end that an OOM kill makes."""
    os.kill(os.getpid(), signal.SIGKILL)


class Vectors(Dataset):
    def __init__(self, count, width=16):
        self.count, self.width = count, width

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.full((self.width,), float(i % 7)), torch.tensor(i % 2)


class Stream(IterableDataset):
    def __init__(self, count, width=16):
        self.count, self.width = count, width

    def __iter__(self):
        for i in range(self.count):
            yield torch.full((self.width,), float(i % 7)), torch.tensor(i % 2)


class Tokens(Dataset):
    def __init__(self, count, labels="class"):
        self.count, self.labels = count, labels

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        ids = torch.full((16,), i % 90 + 1)
        return {"input_ids": ids, "attention_mask": torch.ones(16, dtype=torch.long),
                "labels": torch.tensor(i % 2) if self.labels == "class" else ids}


class TokenStream(IterableDataset):
    def __init__(self, count):
        self.tokens = Tokens(count)

    def __iter__(self):
        return (self.tokens[i] for i in range(len(self.tokens)))


def classifier(width=16):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 2))
