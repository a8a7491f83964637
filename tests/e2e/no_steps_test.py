#!/usr/bin/env python3
"""Programs without training steps: the line that keeps memory comes first, and rounds that are claimed are the program's.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. no_steps_test.py [-k NAME]

A few of the programs of tests/field/clock, which run.py there runs all of.
"""
import os
import pathlib
import subprocess
import tempfile
import textwrap
import unittest

from plateau_cli import PYTHON, SOURCE, plateau, record, report_json, run

PROGRAMS = SOURCE / "tests/field/clock"
NEWER_PYTHONS = ("python3.14", "python3.13", "python3.12", os.path.expanduser("~/.pyenv/versions/3.12.1/bin/python"))

# A framework with the entry points of the real one, as far as the start-up hook looks at them.
XGBOOST = """
class Booster:
    def update(self, data, fails=False):
        if fails: raise ValueError("as planned")
        return self.boost(data)
    def boost(self, data): return len(data)
"""
KERAS = """
class CallbackList:
    def on_train_batch_end(self, batch, logs=None): return batch
    def on_epoch_end(self, epoch, logs=None): return epoch
    def on_test_begin(self, logs=None): pass
    def on_test_end(self, logs=None): pass
"""


def holding_line(program):
    return next(n for n, text in enumerate((PROGRAMS / program).read_text().splitlines(), 1) if "HOLD" in text and not text.startswith('"""'))


def works(python):
    try:
        return subprocess.run([python, "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def has_numpy():
    return subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode == 0


class NoStepsTest(unittest.TestCase):
    def report_of(self, *command, options=(), **more):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "recording")
            printed = record(recording, *command, options=options, timeout=240, **more)
            return printed, report_json(recording)

    def check_first_line(self, program, rounds, *command):
        _, report = self.report_of(*command)
        first = report["sites"][0]
        self.assertEqual((os.path.basename(first["file"]), first["line"]), (program, holding_line(program)))
        self.assertGreater(first["grown_bytes"], 1 << 20)
        self.assertAlmostEqual(report["steps"]["count"], rounds, delta=rounds / 100)
        self.assertEqual(report["steps"]["source"], "rounds" if rounds else "bytes")
        self.assertEqual("seen in stacks" in report["steps"]["loop"], rounds > 0)

    @unittest.skipUnless(has_numpy(), "no numpy")
    def test_a_line_that_keeps_arrays_comes_first(self):
        for program, rounds in (("trainer_class.py", 360), ("thread_per_request.py", 300), ("asyncio_queue.py", 900), ("phases.py", 600),
                                ("map_loop.py", 0)):  # the last one's loop is in C
            with self.subTest(program=program):
                self.check_first_line(program, rounds, PYTHON, PROGRAMS / program, "leak")

    @unittest.skipUnless(has_numpy(), "no numpy")
    def test_a_healthy_program_has_no_site_that_grew(self):
        _, report = self.report_of(PYTHON, PROGRAMS / "trainer_class.py", "ok")
        self.assertLess(report["sites"][0]["grown_bytes"], 1 << 20)

    def test_destructors_of_a_cpp_program_hide_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "history")
            run("c++", "-g", "-O1", "-std=c++20", "-o", program, PROGRAMS / "history.cc")
            _, report = self.report_of(program, "leak")
        first = report["sites"][0]
        self.assertEqual(os.path.basename(first["file"]), "history.cc")
        self.assertEqual(first["line"], holding_line("history.cc"))
        self.assertGreater(first["grown_bytes"], 20 << 20)

    def run_framework(self, name, text, program):
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder, *name.split("."))
            module.parent.mkdir(parents=True)
            for package in [module.parent, *module.parent.parents]:
                if package == pathlib.Path(folder):
                    break
                (package / "__init__.py").touch()
            module.with_suffix(".py").write_text(text)
            script = pathlib.Path(folder, "train.py")
            script.write_text(textwrap.dedent(program))
            return self.report_of(PYTHON, script)

    def test_a_lambda_inside_the_standard_library_is_the_programs_line(self):
        # The event loop calls a std::function, into which the lambda and what it calls are inlined.
        program = "everyday/event_loop.cc"
        with tempfile.TemporaryDirectory() as folder:
            binary = os.path.join(folder, "event_loop")
            subprocess.run(["c++", "-g", "-O1", "-std=c++20", "-o", binary, PROGRAMS / program], check=True)
            _, report = self.report_of(binary, "leak")
        lines = [n for n, text in enumerate((PROGRAMS / program).read_text().splitlines(), 1) if "HOLD" in text]
        first = report["sites"][0]
        self.assertEqual(os.path.basename(first["file"]), "event_loop.cc")
        self.assertIn(first["line"], lines)
        self.assertGreater(first["grown_bytes"], 4 << 20)

    def test_rounds_of_boosting_are_steps(self):
        printed, report = self.run_framework("xgboost.core", XGBOOST, """
            from xgboost.core import Booster
            booster = Booster(); caught = 0
            for i in range(70):
                assert booster.update([1, 2]) == 2
                try: booster.update([], fails=True)
                except ValueError: caught += 1
            for i in range(10): booster.boost([1])
            print(caught)
        """)
        self.assertEqual(printed.strip(), "70")
        self.assertEqual(report["steps"]["count"], 80)

    def test_batches_and_epochs_of_keras_are_found(self):
        _, report = self.run_framework("keras.src.callbacks.callback_list", KERAS, """
            from keras.src.callbacks.callback_list import CallbackList
            callbacks = CallbackList()
            for epoch in range(4):
                for batch in range(40): assert callbacks.on_train_batch_end(batch) == batch
                callbacks.on_test_begin(); callbacks.on_test_end()
                assert callbacks.on_epoch_end(epoch) == epoch
        """)
        self.assertEqual((report["steps"]["count"], report["steps"]["epochs"], report["steps"]["evaluations"]), (160, 4, 4))

    def counted(self, program):
        python = next((p for p in NEWER_PYTHONS if works(p)), None)
        if python is None:
            self.skipTest("no Python with sys.monitoring")
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "loop.py")
            script.write_text(textwrap.dedent(program))
            _, report = self.report_of(python, script, options=("--loop-rounds",))
        return report["steps"]

    def test_counted_rounds_are_those_of_the_program(self):
        steps = self.counted("""
            kept = []
            def work(n): return sum(i * i for i in range(n))
            def main():
                for epoch in range(10):
                    for batch in range(40):
                        work(2000)
                        kept.append(bytes(40000))
            main()
        """)
        self.assertEqual((steps["source"], steps["count"]), ("rounds", 400))
        self.assertEqual((steps["epochs"], steps["steps_per_epoch"]), (10, 40))

    def test_the_outermost_loop_is_counted_whatever_its_pace(self):
        steps = self.counted("""
            kept = []
            def work():
                for k in range(5): bytes(200)
            for i in range(20000):
                work()
                if i % 10 == 0: kept.append(bytes(40000))
        """)
        self.assertEqual((steps["source"], steps["count"]), ("rounds", 20000))

    def test_the_option_is_documented(self):
        self.assertIn(b"--loop-rounds", plateau("run", "--help"))


if __name__ == "__main__":
    unittest.main()
