#!/usr/bin/env python3
"""FSDP2 with gloo on a mesh of two groups: torchrun --nproc-per-node 4 train_fsdp.py. With LEAK_RANK=2 in the environment rank 2 keeps 64 KiB a step."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

kept = []


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    world = dist.get_world_size()
    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("replicate", "shard"))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        model(torch.randn(16, 64)).square().mean().backward()
        optimizer.step()
        if dist.get_rank() == int(os.environ.get("LEAK_RANK", "-1")):
            kept.append(torch.ones(16384))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
