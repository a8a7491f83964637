"""DataLoader workers that copy on write: the data set is a Python list, reading it touches reference counts, and every worker
ends up with its own copy of pages it only read. Bounded by workers x list.

Expected verdict: worker_duplication
The line marked HOLDS allocates the pages that the workers copy.
"""

import torch
from support import Truth, classifier, train_step
from torch.utils.data import DataLoader, Dataset

EXAMPLES = 1280
RECORDS_PER_EXAMPLE = 300


class Records(Dataset):
    def __init__(self):
        self.records = [[f"token {i} of {n}" for n in range(RECORDS_PER_EXAMPLE)] for i in range(EXAMPLES)]  # HOLDS

    def __len__(self):
        return EXAMPLES

    def __getitem__(self, index):
        words = [word for word in self.records[index]]
        return torch.full((64,), float(len(words))), index % 10


def main():
    truth = Truth()
    model = classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Records(), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    for epoch in range(10):
        for inputs, labels in loader:
            train_step(model, optimizer, inputs, labels)
            truth.steps += 1
        truth.epochs += 1
    truth.print(workers=2)


if __name__ == "__main__":
    main()
