"""A notebook of several cells, the loop in a function of the first, called in three cells. ok|leak ; 3 x 150 rounds"""
import sys, nbformat, nbclient
hold = "kept.append(b)" if sys.argv[1] == "leak" else "pass"
cells = ["import numpy as np\nkept = []\ndef work(n):\n    for i in range(n):\n        b = np.random.rand(7000)  # HOLD 56 kB\n        " + hold,
         "work(150)", "x = np.ones(2_000_000)\nwork(150)", "work(150)", "print('COUNT rounds=450 each=150')"]
nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
nbclient.NotebookClient(nb, kernel_name="python3").execute()
print(nb.cells[-1].outputs[0]["text"])
