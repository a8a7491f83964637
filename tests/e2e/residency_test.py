#!/usr/bin/env python3
"""What is reserved counts by what is in memory of it: an array of zeros that fills, an arena that is opened part by part.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. residency_test.py [-k NAME]
"""
import os
import tempfile
import unittest

from plateau_cli import BUILD, record, report_json

TOUCH = str(BUILD / "tests/programs/touch")
STEPS, STEP_BYTES = 100, 256 << 10


def report_of(what, *options):
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "recording")
        record(recording, TOUCH, str(STEPS), what, options=options, timeout=120)
        return report_json(recording)


def site_of(report, function):
    return next(site for site in report["sites"] if site["function"] == function)


class ResidencyTest(unittest.TestCase):
    def check_fill(self, report, function):
        site = site_of(report, function)
        filled = STEPS * STEP_BYTES
        self.assertAlmostEqual(site["retained_bytes"], filled, delta=0.15 * filled)
        self.assertAlmostEqual(site["growth_bytes_per_step"], STEP_BYTES, delta=0.25 * STEP_BYTES)
        # Each reading adds up, and what is reserved is in none of its parts.
        for reading in report["ledger"]:
            parts = sum(reading[part] for part in ("live_bytes", "allocator_gap_bytes", "rss_file_bytes", "rss_shmem_bytes",
                                                   "own_bytes", "unexplained_bytes"))
            self.assertEqual(parts, reading["rss_bytes"])
            self.assertLess(reading["live_bytes"], 2 * filled)
            self.assertLess(abs(reading["unexplained_bytes"]), 0.3 * filled)
        return site

    def test_an_array_of_zeros_fills_up_to_its_size(self):
        for options in ((), ("--exact",)):
            with self.subTest(options):
                site = self.check_fill(report_of("zeros", *options), "MakeZeros")
                self.assertEqual(site["verdict"], "warmup_in_progress")
                self.assertIn("It ends at 97.7 MiB", site["evidence"])

    def test_an_arena_counts_by_the_pages_that_were_opened(self):
        self.check_fill(report_of("arena"), "MakeArena")

    def test_a_child_has_regions_of_its_own(self):
        report = report_of("fork")
        self.assertEqual(len(report["processes"]), 2)
        self.assertEqual(report["drops"]["events"], 0)


if __name__ == "__main__":
    unittest.main()
