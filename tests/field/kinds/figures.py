"""Plots and writers during training: `figures.py KIND`. figures: a figure per evaluation that is never closed. closed: the same, closed. writers: a
SummaryWriter per epoch that is never closed. writer: one for all."""
import os
import sys
import tempfile

os.environ["MPLBACKEND"] = "Agg"
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
kind = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(32 * 20, 64)), batch_size=32)
folder = tempfile.mkdtemp()
if kind.startswith("writer"):
    from torch.utils.tensorboard import SummaryWriter
    one = SummaryWriter(folder)
    writers = []
else:
    import warnings

    import matplotlib.pyplot as plt
    warnings.filterwarnings("ignore")
losses = []
for epoch in range(12):
    if kind == "writers":
        writers.append(SummaryWriter(f"{folder}/{epoch}"))  # WRITER
    for (x,) in loader:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if kind.startswith("writer"):
            (writers[-1] if kind == "writers" else one).add_scalar("loss", losses[-1], len(losses))
    if not kind.startswith("writer"):
        figure, axes = plt.subplots(2, 2, figsize=(8, 6))  # FIGURE
        axes[0][0].plot(losses[-20:])
        figure.savefig(f"{folder}/loss.png")
        if kind == "closed":
            plt.close(figure)
