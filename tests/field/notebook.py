#!/usr/bin/env python3
"""The Jupyter kernel and %plateau in a real kernel, driven through nbclient.

    pip install nbclient ipykernel
    PLATEAU=build/release/bin/plateau python tests/field/notebook.py
"""
import os
import pathlib
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ["PLATEAU_BIN"] = os.path.abspath(os.environ.get("PLATEAU", SOURCE / "build/ci/bin/plateau"))
sys.path.insert(0, str(SOURCE / "python"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        from plateau_trace import notebook

        where = notebook.install(folder)
        os.environ["JUPYTER_PATH"] = os.path.join(folder, "share", "jupyter")
        assert where.startswith(folder), where
        cells = ["kept = []", "import time\nfor i in range(300):\n    kept.append(bytearray(400000))  # THE LINE\n    time.sleep(0.005)", "%plateau", "%plateau page", "%plateau nonsense",
                 "len(kept)"]
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
        NotebookClient(book, kernel_name=notebook.NAME, timeout=300, resources={"metadata": {"path": folder}}).execute()
        card = "".join(output.get("text", "") for output in book.cells[2].outputs)
        assert "In [2]:3" in card, card
        page = book.cells[3].outputs[0]["data"]["text/html"]
        assert page.startswith("<iframe sandbox=") and "plateau-data" in page, page[:200]
        assert "shows the card" in book.cells[4].outputs[0]["text"]
        assert book.cells[5].outputs[0]["data"]["text/plain"] == "300", "the kernel computes as ever"
        # In a kernel that is not recorded the magic says what to do.
        other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import sys; sys.path.insert(0, %r)\n%%load_ext plateau_trace.notebook" % str(SOURCE / "python")),
                                                nbformat.v4.new_code_cell("%plateau")])
        NotebookClient(other, kernel_name="python3", timeout=300).execute()
        assert "not recorded" in other.cells[1].outputs[0]["text"], other.cells[1].outputs
        print("the card in the cell:\n" + card)


if __name__ == "__main__":
    main()
