"""A notebook by nbclient: the kernel is a child. ok|leak ; 400 rounds in one cell"""
import sys, nbformat, nbclient
hold = "kept.append(b)" if sys.argv[1] == "leak" else "pass"
cells = ["import numpy as np\nkept = []", "for i in range(400):\n    a = np.ones(8000) * i\n    b = a + 1  # HOLD 64 kB\n    " + hold, "print('COUNT rounds=400')"]
nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
nbclient.NotebookClient(nb, kernel_name="python3").execute()
print(nb.cells[-1].outputs[0]["text"])
