"""A notebook: imports, data, a training loop in a cell, a table of results, a last cell. ok|leak ; 350 rounds"""
import sys
import nbclient
import nbformat

keep = "history.append((loss, w.copy()))" if sys.argv[1] == "leak" else "history.append(loss)"
cells = ["import numpy as np\nimport pandas as pd",
         "rng = np.random.default_rng(0)\nX = rng.random((500, 80))\nY = rng.random((500, 60))",
         "history = []\nw = np.zeros((80, 60))\nfor step in range(350):\n    rows = rng.integers(0, 500, 64)\n"
         "    e = X[rows] @ w - Y[rows]\n    loss = float((e ** 2).mean())\n    w = w - 0.01 * X[rows].T @ e  # HOLD\n"
         "    " + keep + "  # HOLD 38 kB",
         "table = pd.DataFrame({'n': range(len(history))})\ntable.describe()",
         "print('COUNT rounds=350')"]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
nbclient.NotebookClient(book, kernel_name="python3").execute()
print(book.cells[-1].outputs[0]["text"])
