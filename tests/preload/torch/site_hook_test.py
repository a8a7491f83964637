#!/usr/bin/env python3
"""The Python start-up hook: marks with torch, no trace of it without, and other sitecustomize files still run."""
import glob
import json
import os
import shutil
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
        run.infos = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("I job:"))
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

    def test_a_rank_that_only_torch_knows_is_told(self):
        code = """
import os, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
    os.environ.pop(name, None)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
print(dist.get_rank(), dist.init_process_group.__name__)
"""
        done, _ = run(code)
        self.assertEqual(done.stdout.split(), ["0", "init_process_group"], done.stderr)
        self.assertEqual(run.infos, {"job:rank": "0", "job:world": "1"})

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

    def test_other_interpreters_are_left_alone(self):
        """Python 2.7, 3.6, 3.7, PyPy, as far as they are installed: same output as without the hook, no finder of ours, and another
        sitecustomize runs."""
        names = ["python2.7", "python3.6", "python3.7", "pypy", "pypy3"]
        found = [path for path in map(shutil.which, names) if path and "/shims/" not in path]
        found += sorted(glob.glob("/root/.pyenv/versions/2.*/bin/python") + glob.glob("/root/.pyenv/versions/3.[67].*/bin/python"))
        code = ("import sys, json, os.path, email.utils; print(json.dumps([sys.path, sorted(sys.modules), sys.flags.verbose, "
                "len(sys.meta_path), getattr(sys, 'theirs', None)]))")
        for python in found:
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                    file.write("import sys\nsys.theirs = __name__\n")
                for more in ([], [folder]):
                    runs = []
                    for site in ([], [SITE]):
                        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
                        environment["PYTHONPATH"] = os.pathsep.join(site + more + ["/nowhere"])
                        environment["PYTHONDONTWRITEBYTECODE"] = "1"
                        runs.append(subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True))
                    plain, hooked = runs
                    self.assertEqual(hooked.returncode, 0, (python, hooked.stderr))
                    self.assertEqual(hooked.stderr, plain.stderr, python)
                    with_hook, without = json.loads(hooked.stdout), json.loads(plain.stdout)
                    # The modules that looking for the next one takes, and our own name when there is no other.
                    extra = set(with_hook[1]) - set(without[1]) - {"sitecustomize", "imp", "contextlib", "types", "warnings", "collections.abc"}
                    self.assertEqual([name for name in extra if not name.startswith("importlib")], [], python)
                    self.assertEqual(with_hook[:1] + with_hook[2:], without[:1] + without[2:], python)
                    self.assertEqual(with_hook[4], "sitecustomize" if more else None, python)
        if not found:
            self.skipTest("no such interpreter")

    def test_an_unknown_interpreter_gets_no_finder(self):
        for change in ("sys.implementation.name = 'other'", "sys.version_info = (3, 7, 9)"):
            code = "import sys; %s; exec(compile(open(%r).read(), %r, 'exec'), {'__file__': %r}); " % (
                change, SITE + "/sitecustomize.py", SITE + "/sitecustomize.py", SITE + "/sitecustomize.py")
            done, _ = run(code + "print(any('Watcher' in type(f).__name__ for f in sys.meta_path))", ["-I"])
            self.assertEqual(done.stdout.strip(), "False", (change, done.stderr))

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
