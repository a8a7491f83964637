"""A trace that has no room for events any more goes on as totals: it keeps its limit, the report still shows what grows and where, the
sums add up, and a kill finds the totals of the last moment. PLATEAU_BUILD names the build folder.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = os.environ["PLATEAU_BUILD"]
PLATEAU = os.path.join(BUILD, "bin/plateau")
SHIM = os.path.join(BUILD, "lib/libplateau.so")
PROGRAM = os.path.join(BUILD, "tests/programs/fold_leak")
LIMIT_KIB = 1200       # full at once
WIDE_LIMIT_KIB = 2048  # with room for some blocks beside the events
STEPS = 4000
BYTES = 10001


class FoldingTest(unittest.TestCase):
    def record(self, mode, *arguments, steps=STEPS, limit_kib=LIMIT_KIB):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = dict(os.environ, LD_PRELOAD=SHIM, PLATEAU_OUT=folder.name, PLATEAU_MODE=mode,
                           PLATEAU_MAX_TRACE=f"{limit_kib}K", PLATEAU_SAMPLE_BYTES="1024")
        done = subprocess.run([PROGRAM, str(steps), *arguments], env=environment, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        for trace in pathlib.Path(folder.name).glob("*.plt"):
            self.assertLessEqual(trace.stat().st_size, limit_kib * 1024)
        return folder.name, done.returncode

    def plateau(self, *arguments):
        done = subprocess.run([PLATEAU, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def report(self, recording):
        # With the length of an epoch it is no question whether a first pass over the data goes on.
        return json.loads(self.plateau("report", recording, "--epoch-steps", "100", "--json", "-"))

    def check_sums(self, report):
        totals = report["totals"]
        rows = sum(s["retained_bytes"] for s in report["sites"]) + sum(r["retained_bytes"] for r in totals["leftovers"])
        self.assertAlmostEqual(rows, totals["retained_bytes"], delta=2 + len(report["sites"]))

    def check(self, recording):
        self.assertTrue("mode=folded" in self.plateau("dump", recording))
        report = self.report(recording)
        self.assertEqual(report["verdict"], "leak")
        site = report["sites"][0]
        self.assertEqual(site["function"], "Keep")
        # A sample of the blocks stands for all of them: five standard deviations and more.
        self.assertAlmostEqual(site["retained_bytes"] / (STEPS * BYTES), 1, delta=0.15)
        self.assertAlmostEqual(site["growth_bytes_per_step"] / BYTES, 1, delta=0.35)
        # The other line frees all it takes.
        others = [s for s in report["sites"] if s["function"] == "Use"]
        for other in others:
            self.assertLess(abs(other["retained_bytes"]), 0.01 * STEPS * BYTES)
        self.check_sums(report)
        self.assertTrue(any("totals of each site instead of events" in note for note in report["recording"]["notes"]))
        self.assertIn("totals only from", " ".join(self.plateau("report", recording).split()))

    def test_growth_is_seen_after_events_ended(self):
        for mode in ("default", "exact"):
            with self.subTest(mode):
                recording, code = self.record(mode)
                self.assertEqual(code, 0)
                self.check(recording)

    def test_a_kill_loses_no_total(self):
        recording, code = self.record("default", "die")
        self.assertEqual(code, -9)
        self.check(recording)

    def test_marks_become_rarer_and_no_step_is_lost(self):
        steps = 100000
        recording, code = self.record("default", steps=steps, limit_kib=WIDE_LIMIT_KIB)
        self.assertEqual(code, 0)
        self.assertTrue("kind=marks_left_out" in self.plateau("dump", recording))
        report = self.report(recording)
        self.assertEqual(report["drops"]["events"], 0)
        # The groups are of eight.
        self.assertAlmostEqual(report["steps"]["count"], steps, delta=32)
        self.assertEqual(report["verdict"], "leak")
        self.assertAlmostEqual(report["sites"][0]["retained_bytes"] / (steps * BYTES), 1, delta=0.1)
        self.assertAlmostEqual(report["sites"][0]["growth_bytes_per_step"] / BYTES, 1, delta=0.2)
        self.check_sums(report)
        self.assertTrue(any("marks of" in note for note in report["recording"]["notes"]))

    def test_more_stacks_than_rows_lose_their_names_only(self):
        steps = 12000
        recording, code = self.record("default", "wide", steps=steps)
        self.assertEqual(code, 0)
        report = self.report(recording)
        self.assertEqual(report["drops"]["events"], 0)
        self.assertAlmostEqual(report["totals"]["retained_bytes"] / (steps * BYTES), 1, delta=0.15)
        nameless, = (r for r in report["totals"]["leftovers"] if r["name"] == "[no stack]")
        self.assertGreater(nameless["retained_bytes"], 0.1 * steps * BYTES)
        self.check_sums(report)

    def test_a_child_forked_meanwhile_has_totals_of_its_own(self):
        recording, code = self.record("default", "fork")
        self.assertEqual(code, 0)
        self.check_sums(self.report(recording))
        retained = [json.loads(self.plateau("report", str(trace), "--json", "-"))["totals"]["retained_bytes"]
                    for trace in sorted(pathlib.Path(recording).glob("*.plt"))]
        self.assertEqual(len(retained), 2)
        for bytes_of_one in retained:
            self.assertAlmostEqual(bytes_of_one / (STEPS * BYTES), 1, delta=0.15)

    def test_packing_keeps_the_totals(self):
        recording, _ = self.record("default")
        before = self.plateau("sites", recording)
        self.plateau("pack", recording)
        self.assertEqual(self.plateau("sites", recording), before)


if __name__ == "__main__":
    unittest.main()
