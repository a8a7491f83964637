"""DataLoader workers in every way they are started: `workers.py KIND [keep]`; `keep` piles up arrays in the worker.

spawn, forkserver, fork: persistent workers. fresh: new workers for every epoch. lru: a bounded cache in each worker. lru_data: an unbounded cache over
a shuffled data set, which each worker fills with all of it in the end. list_of_dicts: workers copy the pages of their parent.
"""
import functools
import os
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
EPOCHS = int(os.environ.get("EPOCHS", 4))


class Clips(Dataset):
    def __init__(self, kind, keeps):
        self.kind, self.keeps, self.seen = kind, keeps, []
        self.records = [{"id": i, "caption": f"a clip of something, number {i}", "tags": [str(i), str(i + 1)]} for i in range(120_000)] if kind == "list_of_dicts" else []  # COPIED

    def __len__(self):
        return 16 * 50

    def decode(self, index):
        return np.sin(np.arange(6_000, dtype=np.float32) * (index + 1))  # WORKER

    @functools.lru_cache(maxsize=150)
    def bounded(self, index):
        return np.sin(np.arange(6_000, dtype=np.float32) * (index + 1))  # BOUNDED

    @functools.lru_cache(maxsize=None)
    def whole(self, index):
        return np.sin(np.arange(6_000, dtype=np.float32) * (index + 1))  # WHOLE

    def __getitem__(self, index):
        if self.kind == "list_of_dicts":
            for k in range(60):
                record = self.records[(index * 7919 + k * 104_729) % len(self.records)]
                len(record["caption"]), len(record["tags"])
        clip = {"lru": self.bounded, "lru_data": self.whole}.get(self.kind, self.decode)(index)
        if self.keeps:
            self.seen.append(clip)
        return torch.from_numpy(clip[:256].copy()), index % 10


def main():
    kind, keeps = sys.argv[1], sys.argv[2:] == ["keep"]
    context = kind if kind in ("spawn", "forkserver") else "fork"
    workers = 3 if kind == "lru_data" else 2
    model = torch.nn.Sequential(torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Clips(kind, keeps), batch_size=16, shuffle=True, num_workers=workers, multiprocessing_context=context, persistent_workers=kind != "fresh")
    for _ in range(EPOCHS * (3 if kind == "lru_data" else 1)):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
