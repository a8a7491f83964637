"""Things that pile up beside blocks of memory: `piles.py KIND`. threads: one more at every step, none ends. files: one more open file at every step.
exceptions: each is kept with its frames. sockets: pairs that stay open. pool, handles, errors: the healthy counterparts."""
import concurrent.futures
import socket
import sys
import tempfile
import threading

import numpy as np
import torch

torch.set_num_threads(1)
kind = sys.argv[1]
model = torch.nn.Linear(128, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
kept, stop = [], threading.Event()
folder = tempfile.mkdtemp()
executor = concurrent.futures.ThreadPoolExecutor(4)


def parse(number):
    table = np.full(20_000, number, dtype=np.float32)  # FRAME
    if number >= 0:
        raise ValueError("bad record")
    return table


def wait():
    scratch = np.ones(4_000)
    stop.wait()
    return scratch


for step in range(220):
    optimizer.zero_grad()
    model(torch.randn(16, 128)).square().mean().backward()
    optimizer.step()
    if kind == "threads":
        threading.Thread(target=wait, daemon=True).start()  # THREAD
    elif kind == "files":
        kept.append(open(f"{folder}/{step}.log", "w"))  # FILE
        kept[-1].write("step\n" * 10)
    elif kind == "sockets":
        kept.append(socket.socketpair())  # SOCKET
    elif kind == "pool":
        list(executor.map(np.ones, [4_000] * 4))
    elif kind == "handles":
        with open(f"{folder}/{step}.log", "w") as log:
            log.write("step\n" * 10)
    elif kind in ("exceptions", "errors"):
        try:
            parse(step)
        except ValueError as error:
            kept.append(error if kind == "exceptions" else str(error))
stop.set()
