#!/usr/bin/env python3
"""Data-parallel training with gloo, whose ranks misbehave as they are told.

    torchrun --nproc-per-node 4 train_ddp.py --leak-rank 2
    plateau run -- torchrun --nproc-per-node 4 train_ddp.py --cache-rank 1

--leak-rank keeps 64 KiB with every step, --cache-rank keeps a table of 64 MiB from the start, --kill-rank kills itself in the middle.
"""
import argparse
import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

kept = []


def leak(rank, arguments):
    if rank == arguments.leak_rank:
        kept.append(torch.ones(16384))  # 64 KiB, for ever


def fill_cache(rank, arguments):
    if rank == arguments.cache_rank:
        kept.append(torch.ones(16 << 20))  # 64 MiB, once


def train(rank, arguments, rendezvous):
    dist.init_process_group("gloo", **rendezvous)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    fill_cache(rank, arguments)
    for step in range(arguments.steps):
        batch = torch.randn(32, 64)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        leak(rank, arguments)
        if rank == arguments.kill_rank and step == arguments.steps // 2:
            os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
    dist.destroy_process_group()


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--leak-rank", type=int, default=-1)
    parser.add_argument("--cache-rank", type=int, default=-1)
    parser.add_argument("--kill-rank", type=int, default=-1)
    parser.add_argument("--spawn", type=int, default=0, metavar="N", help="start N ranks by mp.spawn instead of a launcher")
    return parser.parse_args()


def train_spawned(rank, world, arguments, store):
    train(rank, arguments, dict(init_method="file://" + store, rank=rank, world_size=world))


def train_under_mpi(arguments):
    """mpirun, and accelerate on CPUs, which starts it, say the rank in variables of their own."""
    rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    train(rank, arguments, dict(init_method="tcp://127.0.0.1:29571", rank=rank, world_size=world))


def main():
    arguments = options()
    if arguments.spawn:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(train_spawned, (arguments.spawn, arguments, os.path.join(folder, "store")), arguments.spawn)
    elif "RANK" in os.environ:
        train(int(os.environ["RANK"]), arguments, {})
    else:
        train_under_mpi(arguments)


if __name__ == "__main__":
    main()
