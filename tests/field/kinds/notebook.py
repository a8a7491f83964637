"""A notebook, cell by cell, as a kernel would run it: `notebook.py KIND`. kept: the third cell keeps a batch per step."""
import sys

from IPython.core.interactiveshell import InteractiveShell

KEEP = "seen.append(x.repeat(1, 8))" if sys.argv[1] == "kept" else "seen[:] = [x]"
CELLS = ["import torch\ntorch.set_num_threads(1)\nseen = []",
         "model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))\noptimizer = torch.optim.SGD(model.parameters(), lr=1e-3)",
         "loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32 * 40, 64)), batch_size=32)\n"
         f"for epoch in range(5):\n    for (x,) in loader:\n        optimizer.zero_grad()\n        model(x).square().mean().backward()\n        optimizer.step()\n        {KEEP}"]
shell = InteractiveShell.instance()
for cell in CELLS:
    shell.run_cell(cell, store_history=True).raise_error()
