#!/usr/bin/env python3
"""The Python start-up hook: marks with torch, no trace of it without, and other sitecustomize files still run."""
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["PLATEAU_SOURCE"]
BUILD = os.environ["PLATEAU_BUILD"]
PYTHON = "/usr/bin/python3"
SITE = os.path.join(SOURCE, "python", "plateau_site")
RECORDER = os.path.join(BUILD, "tests", "libmark_recorder.so")

LOOP = """
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.zeros(10, 4)), batch_size=4)
for epoch in range(2):
    model.train()
    for (x,) in loader:
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
    model.eval()
"""


def run(code, flags=(), site=SITE, preload=True, more_path=(), cwd=None):
    with tempfile.TemporaryDirectory() as folder:
        marks = os.path.join(folder, "marks")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment["PYTHONPATH"] = os.pathsep.join([site, *more_path])
        if preload:
            environment.update(LD_PRELOAD=RECORDER, MARKS=marks)
        done = subprocess.run([PYTHON, *flags, "-c", code], env=environment, capture_output=True, text=True, cwd=cwd)
        lines = []
        if os.path.exists(marks):
            with open(marks) as file:
                lines = file.read().splitlines()
        return done, [line.split(" ", 6) for line in lines if line.startswith("M")]


def of_hook(marks, kind):
    return [m for m in marks if m[4] == "4" and m[3] == str(kind)]


class SiteHookTest(unittest.TestCase):
    def test_loaders_modes_and_steps_are_marked(self):
        done, marks = run(LOOP)
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = of_hook(marks, 14)
        words = [[word for word in m[6].split() if not word.startswith("dataset=")] for m in notes]
        self.assertEqual(words, [["loader", "batches=3", "examples=10", "batch_size=4", "workers=0", "order=kept"]] * 2)
        # The fetches of a pass have the iterator that its note names.
        fetches = [int(m[5]) >> 2 for m in marks if m[3] in ("9", "15")]
        self.assertEqual(fetches, [int(m[5]) >> 4 for m in notes for _ in range(4)])
        self.assertEqual([m[5] for m in of_hook(marks, 10)], ["1", "0", "1", "0"])
        self.assertEqual([m[6] for m in of_hook(marks, 1)], ["SGD"] * 6)

    def test_subclasses_and_several_instances_are_marked_once(self):
        code = LOOP.replace("torch.optim.SGD(", "Mine(").replace(
            "model = ", "class Mine(torch.optim.SGD): pass\nmodel = ").replace(
            "loader =", "other = Mine(model.parameters(), lr=0.1)\nloader =")
        done, marks = run(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([m[6] for m in of_hook(marks, 1)], ["Mine"] * 6)

    def test_isolated_interpreters_do_not_see_it(self):
        for flags in (["-I"], ["-E"], ["-S"]):
            done, marks = run("import sys; print(any('Watcher' in type(f).__name__ for f in sys.meta_path))", flags)
            self.assertEqual(done.stdout.strip(), "False", flags)

    def test_without_the_library_nothing_changes(self):
        done, _ = run(LOOP + "\nprint(nn.Module.train.__module__)", preload=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_path_and_name_are_given_back(self):
        done, _ = run("import sys; print(%r in sys.path)" % SITE)
        self.assertEqual(done.stdout.strip(), "False")

    def test_another_sitecustomize_runs_under_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write("import sys\nWHO = 'theirs'\nsys.theirs_ran = __name__\n")
            done, _ = run("import sys, sitecustomize; print(sys.theirs_ran, sitecustomize.WHO)", more_path=[folder])
            self.assertEqual(done.stdout.strip(), "sitecustomize theirs")

    def test_a_data_set_without_a_length_is_fine(self):
        code = """
import torch
from torch.utils.data import DataLoader, IterableDataset
class Stream(IterableDataset):
    def __iter__(self): return iter([torch.zeros(2)] * 6)
print(len(list(DataLoader(Stream(), batch_size=3))))
"""
        done, marks = run(code)
        self.assertEqual(done.stdout.strip(), "2", done.stderr)
        note, = [m[6] for m in of_hook(marks, 14)]
        self.assertRegex(note, r"^loader batch_size=3 workers=0 dataset=\d+$")

    def test_an_error_in_anothers_sitecustomize_is_still_theirs(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write("raise RuntimeError('theirs')\n")
            done, _ = run("print('goes on')", more_path=[folder])
            self.assertIn("theirs", done.stderr)
            self.assertEqual(done.stdout.strip(), "goes on")


if __name__ == "__main__":
    if not os.path.exists(RECORDER) or subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        sys.exit(77)
    unittest.main()
