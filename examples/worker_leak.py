"""A leak inside DataLoader workers: the data set remembers every example it has ever handed out, in each worker on its own.

Expected verdict: leak
The trainer's own memory stays flat; the line marked LEAK runs in the workers only.
"""

import torch
from support import Truth, classifier, train_step
from torch.utils.data import DataLoader, Dataset

WORKERS = 2
BATCH = 8
EXAMPLES = 60 * BATCH
FEATURES = 64
DECODED_BYTES = 40_000


class Decoder(Dataset):
    def __init__(self):
        self.decoded = []

    def __len__(self):
        return EXAMPLES

    def __getitem__(self, index):
        self.decoded.append(bytearray(DECODED_BYTES))  # LEAK
        pixels = torch.full((FEATURES, 1000), float(index % 7)).sin()
        return pixels.mean(1), index % 10


def main():
    truth = Truth()
    model = classifier(FEATURES)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Decoder(), batch_size=BATCH, num_workers=WORKERS, persistent_workers=True)
    for _ in range(4):
        for inputs, labels in loader:
            train_step(model, optimizer, inputs, labels)
            truth.steps += 1
        truth.epochs += 1
    truth.print(leak_bytes_per_step=BATCH * DECODED_BYTES)  # of all workers together


if __name__ == "__main__":
    main()
