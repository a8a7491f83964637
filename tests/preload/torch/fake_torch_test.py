#!/usr/bin/env python3
"""Builds of torch that do not fit: nothing breaks, and the status line says what is missing."""
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["PLATEAU_BUILD"]
TESTS = os.path.join(BUILD, "tests")
RECORDER = os.path.join(TESTS, "libmark_recorder.so")
SHIM = os.path.join(BUILD, "lib", "libplateau.so")
STEP, OPTIMIZER_BEGIN = "1", "11"


def run(variant, preload=RECORDER):
    with tempfile.TemporaryDirectory() as folder:
        marks = os.path.join(folder, "marks")
        library = os.path.join(TESTS, "fake_torch", variant, "libtorch_cpu.so")
        environment = dict(os.environ, LD_PRELOAD=preload, MARKS=marks, PLATEAU_OUT=os.path.join(folder, "out"))
        done = subprocess.run([os.path.join(TESTS, "fake_torch_driver"), library], env=environment, capture_output=True,
                              text=True)
        lines = []
        if os.path.exists(marks):
            with open(marks) as file:
                lines = file.read().splitlines()
        status = [line[len("I torch "):] for line in lines if line.startswith("I torch ")]
        return done, status, [line.split(" ", 6) for line in lines if line.startswith("M")]


class FakeTorchTest(unittest.TestCase):
    def steps(self, marks, source):
        return [mark[6] for mark in marks if mark[3] == STEP and mark[4] == source]

    def test_fitting_build_is_armed(self):
        done, status, marks = run("GOOD")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ranges armed", status[-1])
        self.assertEqual(self.steps(marks, "1"), ["Adam"] * 3)

    def test_cpp_step_and_the_exception_it_throws_pass(self):
        done, _, marks = run("GOOD")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.steps(marks, "2"), ["SGD"], "the step that threw did not end")
        self.assertEqual(len([m for m in marks if m[3] == OPTIMIZER_BEGIN and m[4] == "2"]), 2)

    def test_older_layout_is_refused(self):
        done, status, marks = run("OLD")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("older RecordFunction layout", status[-1])
        self.assertEqual(self.steps(marks, "1"), [])

    def test_missing_function_is_reported(self):
        done, status, marks = run("MISSING")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not export at::addGlobalCallback", status[-1])
        self.assertEqual(self.steps(marks, "1"), [])

    def test_unreadable_name_disarms(self):
        done, status, marks = run("BAD_NAME")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ranges disarmed", status[-1])
        self.assertEqual(self.steps(marks, "1"), [])

    def test_the_shim_itself_disturbs_none_of_them(self):
        if not os.path.exists(SHIM):
            self.skipTest("libplateau.so is not built")
        for variant in ("GOOD", "OLD", "MISSING", "BAD_NAME", "EMPTY"):
            done, _, _ = run(variant, SHIM)
            self.assertEqual(done.returncode, 0, variant + done.stderr)


if __name__ == "__main__":
    unittest.main()
