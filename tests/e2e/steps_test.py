#!/usr/bin/env python3
"""Steps, epochs, evaluations and checkpoints found from outside must equal the programs' own counts, all of them.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. steps_test.py [-k NAME]

Each example runs twice: with the torch part alone, and with the Python start-up hook beside it.
"""
import json
import os
import tempfile
import unittest

from plateau_cli import BUILD, EXAMPLES, SOURCE, record, report_json, skip_unless
from plateau_cli import run as run_command

PYTHON = os.environ.get("PLATEAU_TEST_PYTHON", "/usr/bin/python3")
RECORDER = str(BUILD / "tests/libmark_recorder.so")
CLOCK = str(BUILD / "tests/clock_of_marks")
SITE = str(SOURCE / "python/plateau_site")

RAISING_LOOP = """
import torch
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x
    @staticmethod
    def backward(context, gradient): raise RuntimeError("as planned")
weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
caught = 0
for step in range(20):
    optimizer.zero_grad()
    loss = (weight * 2).sum()
    try:
        (Fails.apply(loss) if step in (3, 11) else loss).backward()
    except RuntimeError as error:
        assert str(error) == "as planned"
        caught += 1
        continue
    optimizer.step()
assert caught == 2
"""

COUNTS = ("steps", "epochs", "evaluations", "checkpoints", "skipped")


def run(command, with_hook=False, preload=RECORDER):
    """Returns (the program's truth, what the clock found, the status line)."""
    with tempfile.TemporaryDirectory() as folder:
        marks = os.path.join(folder, "marks")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment.update(LD_PRELOAD=preload, MARKS=marks)
        if with_hook:
            environment["PYTHONPATH"] = SITE
        printed = run_command(*command, env=environment, text=True, timeout=240)
        truth = json.loads(printed.splitlines()[-1])["truth"] if '"truth"' in printed else {}
        with open(marks) as file:
            lines = file.read()
        clock = json.loads(run_command(CLOCK, input=lines, text=True))
        status = [line[len("I torch "):] for line in lines.splitlines() if line.startswith("I torch ")]
        return truth, clock, status


def run_whole(command):
    """Under the launcher and the shim, whose marks carry lines: (the program's truth, the report's steps)."""
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "recording")
        printed = record(recording, *command, timeout=240)
        steps = report_json(recording)["steps"]
        steps["steps"] = steps["count"]
        return json.loads(printed.splitlines()[-1])["truth"], steps


class StepsTest(unittest.TestCase):
    def check(self, name, *arguments, epochs_are_known=True):
        for with_hook in (False, True):
            with self.subTest(program=name, arguments=arguments, with_hook=with_hook):
                command = [PYTHON, os.path.join(EXAMPLES, name), *arguments]
                truth, found, status = run(command, with_hook)
                wanted = {key: truth.get(key, 0) for key in COUNTS}
                self.assertEqual({key: found[key] for key in COUNTS}, wanted, found["sentence"])
                self.assertEqual(found["confidence"], "high")
                self.assertIn("ranges armed", status[-1])
                if "steps_per_epoch" in truth and (with_hook or truth["epochs"]):
                    self.assertEqual(found["steps_per_epoch"], truth["steps_per_epoch"])

    def test_plain_loop_with_evaluation_after_each_epoch(self):
        self.check("healthy.py")

    def test_gradient_accumulation(self):
        self.check("steps_accumulation.py")

    def test_two_optimizers(self):
        self.check("steps_two_optimizers.py")

    def test_gan(self):
        self.check("steps_gan.py")

    def test_evaluation_every_k_steps(self):
        self.check("steps_evaluation.py")

    def test_two_workers(self):
        self.check("steps_evaluation.py", "--workers", "2")

    def test_two_persistent_workers(self):
        self.check("steps_evaluation.py", "--workers", "2", "--persistent")

    def test_backward_inside_backward(self):
        self.check("steps_checkpointed.py")

    def test_custom_optimizer_and_iterator_made_anew(self):
        self.check("steps_custom_optimizer.py")

    def test_skipped_steps(self):
        self.check("steps_skipped.py")

    def test_closure(self):
        self.check("steps_closure.py")

    def test_cut_in_the_first_epoch(self):
        self.check("image_cache.py", "--cut")

    def test_cache_of_the_first_epoch(self):
        self.check("image_cache.py")

    def test_evaluations_that_keep_their_results(self):
        self.check("eval_staircase.py")

    def test_loop_in_cpp(self):
        program = os.path.join(BUILD, "examples", "training_loop")
        if not os.path.exists(program):
            self.skipTest("libtorch was not found when building")
        truth, found, status = run([program])
        self.assertEqual({key: found[key] for key in COUNTS}, {key: truth.get(key, 0) for key in COUNTS})
        self.assertIn("ranges armed", status[-1])

    def test_kinds_of_steps_in_cpp(self):
        program = os.path.join(BUILD, "examples", "step_kinds")
        if not os.path.exists(program):
            self.skipTest("libtorch was not found when building")
        for kind in ("plain", "accumulation", "two_optimizers", "gan", "evaluation", "custom_optimizer"):
            with self.subTest(kind=kind):
                truth, found = run_whole([program, kind])
                self.assertEqual({key: found[key] for key in truth}, truth)

    def test_backward_that_raises_passes_its_exception_and_later_steps_count(self):
        _, found, _ = run([PYTHON, "-c", RAISING_LOOP])
        self.assertEqual(found["steps"] - found["skipped"], 18)

    def test_program_without_torch_is_time_based(self):
        _, found, status = run([PYTHON, "-c", "x = [bytes(1000) for _ in range(1000)]"])
        self.assertEqual((found["source"], found["steps"]), ("time", 0))
        self.assertEqual(status, [])


if __name__ == "__main__":
    skip_unless(torch=True, files=(RECORDER,))
    unittest.main()
