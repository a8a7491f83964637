#!/usr/bin/env python3
"""A small training loop on CUDA in several ways, then torch's own account of the memory it used, as one JSON line.

usage: train_cuda.py plain|pinned|graph|oom|leak|fragment|warm_up [STEPS]

On the null device kernels do nothing, so values mean nothing; memory is requested and freed as always.
"""
import json
import sys

import torch

torch.backends.cudnn.enabled = False
DEVICE = "cuda"


def model_and_optimizer():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(DEVICE)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def train_step(model, optimizer, batch):
    optimizer.zero_grad(set_to_none=True)
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()


def plain(steps):
    model, optimizer = model_and_optimizer()
    for step in range(steps):
        batch = torch.randn(64 + step % 3, 256).to(DEVICE)
        train_step(model, optimizer, batch)


def pinned(steps):
    model, optimizer = model_and_optimizer()
    data = torch.utils.data.TensorDataset(torch.randn(64 * steps, 256))
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=64, pin_memory=True):
        train_step(model, optimizer, batch.to(DEVICE, non_blocking=True))


def graph(steps):
    model, optimizer = model_and_optimizer()
    batch = torch.zeros(64, 256, device=DEVICE)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(batch).sum().backward()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        out = model(batch)
        out.sum().backward()
    for _ in range(steps):
        captured.replay()


def oom(steps):
    plain(steps)
    try:
        torch.empty(1 << 36, dtype=torch.uint8, device=DEVICE)
    except torch.OutOfMemoryError:
        return
    sys.exit("the null device gave 64 GiB")


KEPT = []


def leak(steps):
    model, optimizer = model_and_optimizer()
    for _ in range(steps):
        batch = torch.randn(64, 256).to(DEVICE)
        train_step(model, optimizer, batch)
        KEPT.append(torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE))  # LEAK-LINE


def fragment(steps):
    """Live bytes stay flat while every larger request needs a new segment: the old ones are pinned by a small block."""
    model, optimizer = model_and_optimizer()
    keepers = []
    for step in range(steps):
        batch = torch.randn(64, 256).to(DEVICE)
        train_step(model, optimizer, batch)
        big = torch.empty((step + 12) << 20, dtype=torch.uint8, device=DEVICE)  # FRAGMENT-LINE
        del big
        # Splits the cached segment, so that it cannot serve the next, larger request.
        keepers.append(torch.empty(2 << 20, dtype=torch.uint8, device=DEVICE))
        if len(keepers) > 200:
            keepers.pop(0)


def warm_up(steps):
    model, optimizer = model_and_optimizer()
    cache = {}
    for step in range(steps):
        batch = torch.randn(64, 256).to(DEVICE)
        train_step(model, optimizer, batch)
        if step % 20 not in cache:
            cache[step % 20] = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)  # WARM-UP-LINE
    KEPT.append(cache)


def main():
    scenario = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    globals()[scenario](steps)
    stats = torch.cuda.memory_stats()
    keys = ("allocation.all.allocated", "allocation.all.freed", "allocated_bytes.all.allocated",
            "allocated_bytes.all.freed", "allocated_bytes.all.current", "segment.all.allocated", "segment.all.freed",
            "reserved_bytes.all.allocated", "reserved_bytes.all.current", "num_ooms", "num_alloc_retries")
    answer = {key: stats.get(key, 0) for key in keys}
    answer["torch"] = torch.__version__
    answer["memory_allocated"] = torch.cuda.memory_allocated()
    print("STATS " + json.dumps(answer), flush=True)


main()
