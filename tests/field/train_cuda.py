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


EPOCH = 12  # batches


def batches(steps):
    """Passes over a data set of EPOCH batches of slightly different sizes."""
    data = [torch.randn(64 + i % 3, 256) for i in range(EPOCH)]
    for step in range(0, steps, EPOCH):
        yield from torch.utils.data.DataLoader(data, batch_size=None)


def plain(steps):
    model, optimizer = model_and_optimizer()
    for batch in batches(steps):
        train_step(model, optimizer, batch.to(DEVICE))


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
    for batch in batches(steps):
        train_step(model, optimizer, batch.to(DEVICE))
        KEPT.append(torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE))  # LEAK-LINE


def fragment(steps):
    """Each step asks for a little more than any cached segment holds: tensors stay flat while reserved memory grows."""
    model, optimizer = model_and_optimizer()
    for step, batch in enumerate(batches(steps)):
        train_step(model, optimizer, batch.to(DEVICE))
        big = torch.empty((64 + 2 * step) << 20, dtype=torch.uint8, device=DEVICE)  # FRAGMENT-LINE
        del big


def warm_up(steps):
    model, optimizer = model_and_optimizer()
    cache = {}
    for step, batch in enumerate(batches(steps)):
        train_step(model, optimizer, batch.to(DEVICE))
        if step % 7 not in cache:
            cache[step % 7] = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)  # WARM-UP-LINE
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
