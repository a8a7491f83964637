"""Things that hold an autograd graph, or only seem to: `graphs.py KIND`.

ema_loss: a running average of the loss that is never detached. callbacks: a list of (step, loss) tuples. penalty: a regulariser that refers to last step's
output. detached: the same lists with detached values, healthy.
"""
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
kind = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(TensorDataset(torch.randn(32 * 40, 64)), batch_size=32, shuffle=True)
history, average = [], None


class Log:
    def __init__(self):
        self.rows = []

    def add(self, step, loss):
        self.rows.append((step, loss))  # the graph of every step stays behind its loss


log, step = Log(), 0
for epoch in range(6):
    for (x,) in loader:
        optimizer.zero_grad()
        out = model(x)  # HERE
        loss = (out - x).square().mean()  # HERE
        loss.backward(retain_graph=kind in ("ema_loss", "callbacks"))
        optimizer.step()
        step += 1
        if kind == "ema_loss":
            average = loss if average is None else 0.9 * average + 0.1 * loss  # HERE
        elif kind == "callbacks":
            log.add(step, loss)
        elif kind == "detached":
            log.add(step, loss.detach())
            history.append(out.detach().mean().item())
