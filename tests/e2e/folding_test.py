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
LIMIT_KIB = 1200
STEPS = 4000
BYTES = 10001


class FoldingTest(unittest.TestCase):
    def record(self, mode, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = dict(os.environ, LD_PRELOAD=SHIM, PLATEAU_OUT=folder.name, PLATEAU_MODE=mode,
                           PLATEAU_MAX_TRACE=f"{LIMIT_KIB}K", PLATEAU_SAMPLE_BYTES="1024")
        done = subprocess.run([PROGRAM, str(STEPS), *arguments], env=environment, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        trace, = pathlib.Path(folder.name).glob("*.plt")
        self.assertLessEqual(trace.stat().st_size, LIMIT_KIB * 1024)
        return folder.name, done.returncode

    def plateau(self, *arguments):
        done = subprocess.run([PLATEAU, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, recording):
        self.assertIn("mode=folded", self.plateau("dump", recording))
        report = json.loads(self.plateau("report", recording, "--json", "-"))
        site = report["sites"][0]
        self.assertEqual(site["function"], "Keep")
        # A sample of the blocks stands for all of them: five standard deviations and more.
        self.assertAlmostEqual(site["retained_bytes"] / (STEPS * BYTES), 1, delta=0.15)
        self.assertAlmostEqual(site["growth_bytes_per_step"] / BYTES, 1, delta=0.35)
        # The other line frees all it takes.
        others = [s for s in report["sites"] if s["function"] == "Use"]
        for other in others:
            self.assertLess(abs(other["retained_bytes"]), 0.01 * STEPS * BYTES)
        totals = report["totals"]
        rows = sum(s["retained_bytes"] for s in report["sites"]) + sum(r["retained_bytes"] for r in totals["leftovers"])
        self.assertAlmostEqual(rows, totals["retained_bytes"], delta=2 + len(report["sites"]))
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

    def test_packing_keeps_the_totals(self):
        recording, _ = self.record("default")
        before = self.plateau("sites", recording)
        self.plateau("pack", recording)
        self.assertEqual(self.plateau("sites", recording), before)


if __name__ == "__main__":
    unittest.main()
