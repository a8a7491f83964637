#!/usr/bin/env python3
"""A program that keeps its own books (tests/programs/truth.cc) against the report: every site has its live bytes and
counts exactly, and the sites with the leftovers add up to the total."""
import os
import re
import tempfile
import unittest

from plateau_cli import BUILD, record, report_json

TRUTH = BUILD / "tests/programs/truth"
SITES = 16


def books(output):
    """{site name: (live count, live bytes)} as the program printed them."""
    rows = (line.split() for line in output.splitlines() if "<" in line)
    return {name: (int(count), int(live_bytes)) for name, count, live_bytes in rows}


class TruthReportTest(unittest.TestCase):
    maxDiff = None

    def compare(self, seed, *options):
        with tempfile.TemporaryDirectory(prefix="plateau-truth-") as folder:
            recording = os.path.join(folder, "recording")
            printed = record(recording, TRUTH, "20000", seed, options=options, timeout=200)
            report = report_json(recording, timeout=200)
        seen = {}
        for site in report["sites"]:
            name = re.search(r"(AllocateAt|GrowAt)<\d+>", site["function"])
            if not name:
                continue
            counts = (site["retained_count"], site["retained_bytes"])
            seen[name.group()] = tuple(map(sum, zip(seen.get(name.group(), (0, 0)), counts)))
        self.assertEqual(seen, books(printed))
        self.assertEqual(len(seen), SITES)
        for field in ("retained_bytes", "retained_count", "alloc_bytes", "alloc_count"):
            parts = sum(row[field] for row in report["sites"] + report["totals"]["leftovers"])
            self.assertEqual(parts, report["totals"][field], field)

    def test_exact_mode(self):
        for seed in ("1", "2", "3"):
            with self.subTest(seed=seed):
                self.compare(seed, "--exact")

    def test_default_mode_above_its_threshold(self):
        self.compare("4", "--exact-from", "10000")


if __name__ == "__main__":
    unittest.main()
