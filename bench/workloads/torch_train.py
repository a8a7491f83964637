"""A small model trained with a DataLoader: torch_train.py [STEPS] [WORKERS]"""
import sys
import time

import torch
from own_cost import print_own_cost
from torch.utils.data import DataLoader, Dataset

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 600
workers = int(sys.argv[2]) if len(sys.argv) > 2 else 0


class Samples(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(64, generator=generator), index % 10


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    start = time.monotonic()
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    done = 0
    total = 0.0
    while done < steps:
        for x, y in DataLoader(Samples(), batch_size=32, num_workers=workers):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            done += 1
            if done == steps:
                break
    print("loss %.4f" % (total / done))
    print_own_cost(start)


main()
