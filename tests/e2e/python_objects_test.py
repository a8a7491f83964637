#!/usr/bin/env python3
"""Python's small objects are sampled in exact mode too, unless each is asked for; all else of exact mode stays complete.

The program keeps, in every step, the same number of small objects (pymalloc) and of larger ones (malloc).
"""
import json
import os
import re
import subprocess
import tempfile
import unittest

from plateau_cli import BUILD, PLATEAU, PYTHON, line_of, plateau, report_json, report_text

STEPS, SMALL, LARGE = 40, 5000, 50
SMALL_BYTES = SMALL * (200 + 33)  # of a step; a bytes object has 33 bytes beside its content
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from plateau_trace import mark
small, large = [], []
def keep():
    small.extend([bytes(200) for _ in range(%d)])  # THE LINE
    large.extend([bytes(1000) for _ in range(%d)])  # THE OTHER
for _ in range(%d):
    keep()
    mark.step()
""" % (SMALL, LARGE, STEPS)


class Recorded:
    def __init__(self, *options, variables=()):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "recording")
            plateau("run", "-q", "--exact", "--no-report", *options, "-o", recording, "--", PYTHON, "-c", PROGRAM,
                    BUILD / "lib/plateau/python", env=dict(os.environ, **dict(variables)))
            self.report, self.card = report_json(recording), report_text(recording)
            stats = plateau("dump", "--stats", recording, text=True)
        self.records = {kind: int(count) for kind, count in re.findall(r"^  (\w+) +(\d+) ", stats, re.M)}

    def site(self, mark, pool="host"):
        line = line_of(PROGRAM, mark)
        found = [site for site in self.report["sites"] if site["line"] == line and site["file"] == "<string>"]
        return max(found, key=lambda site: site["retained_bytes"])


class PythonObjectsTest(unittest.TestCase):
    def check_malloc(self, recorded):
        """What malloc gave is all there: bytes(1000) and nothing else of that line."""
        site = recorded.site("# THE OTHER")
        self.assertGreaterEqual(site["retained_bytes"], STEPS * LARGE * 1033)
        self.assertLess(site["retained_bytes"], 1.1 * STEPS * LARGE * 1033)
        self.assertEqual(site["growth_interval"] and site["growth_interval"][0] > 0, True, site["growth_interval"])

    def test_small_objects_are_sampled_in_exact_mode(self):
        recorded = Recorded()
        self.assertEqual(recorded.report["recording"]["python_sample_bytes"], 512 * 1024)
        # 47 MB kept and as much again of other objects: one sample in 512 KiB.
        self.assertTrue(40 < recorded.records["alloc_in"] < 2000, recorded.records)
        site = recorded.site("# THE LINE")
        low, high = site["growth_interval"]
        half = (high - low) / 2
        # 95 % of intervals hold the truth, and all but one in ten thousand when they are made twice as wide.
        self.assertLess(abs(site["growth_bytes_per_step"] - SMALL_BYTES), 2 * half, site["growth_interval"])
        self.assertTrue(0.02 * SMALL_BYTES < half < 0.6 * SMALL_BYTES, site["growth_interval"])
        self.assertIn("Python's small objects sampled", " ".join(recorded.card.split()))
        self.check_malloc(recorded)

    def test_each_is_recorded_on_request(self):
        recorded = Recorded("--python-alloc=exact")
        self.assertEqual(recorded.report["recording"]["python_sample_bytes"], 0)
        self.assertGreater(recorded.records["alloc_in"], STEPS * SMALL)
        site = recorded.site("# THE LINE")
        # Freelists hand out a few blocks that other lines made, and the lists themselves may be small.
        self.assertLess(abs(site["retained_bytes"] / (STEPS * SMALL_BYTES) - 1), 0.001)
        self.assertNotIn("small objects sampled", " ".join(recorded.card.split()))
        self.check_malloc(recorded)

    def test_malloc_can_take_their_place(self):
        recorded = Recorded("--python-alloc=malloc")
        self.assertNotIn("alloc_in", recorded.records)
        self.assertLess(abs(recorded.site("# THE LINE")["retained_bytes"] / (STEPS * SMALL_BYTES) - 1), 0.05)

    def test_off_leaves_them_out(self):
        recorded = Recorded("--python-alloc=off")
        self.assertNotIn("alloc_in", recorded.records)
        self.check_malloc(recorded)

    def test_unknown_value_is_an_error_of_the_launcher(self):
        done = subprocess.run([PLATEAU, "run", "--python-alloc=all", "--", "true"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("not sample, exact, malloc or off", done.stderr)


if __name__ == "__main__":
    unittest.main()
