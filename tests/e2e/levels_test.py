#!/usr/bin/env python3
"""Which levels were armed, and why another was not, in the report of programs that torch does not fit; their clock is time.
Plateau's own Python code is nobody's call site, and short programs have a calibrated clock.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. levels_test.py [-k NAME]
"""
import os
import tempfile
import time
import unittest

from plateau_cli import BUILD, PYTHON, compile_c, record, report_json, report_text

TESTS = str(BUILD / "tests")


def report_of(*command):
    """(seconds the program took, the report as JSON, as text)"""
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "recording")
        began = time.monotonic()
        record(recording, *command, timeout=120)
        return time.monotonic() - began, report_json(recording), report_text(recording)


class LevelsTest(unittest.TestCase):
    def check_time_based(self, report, text):
        self.assertEqual((report["steps"]["count"], report["steps"]["source"]), (0, "time"))
        self.assertIn("the clock is time", " ".join(report["recording"]["notes"]))
        self.assertIn("the clock is time", text)

    def test_program_without_torch(self):
        _, report, text = report_of(PYTHON, "-c", "x = [bytes(1000) for _ in range(1000)]")
        self.check_time_based(report, text)
        self.assertIn("not traced: no torch library", report["recording"]["levels"]["torch"])
        self.assertIn("torch: not traced", text)

    def test_builds_of_torch_that_do_not_fit(self):
        for variant, reason in (("OLD", "older RecordFunction layout"), ("MISSING", "does not export at::addGlobalCallback"),
                                ("BAD_NAME", "ranges disarmed")):
            with self.subTest(variant):
                library = os.path.join(TESTS, "fake_torch", variant, "libtorch_cpu.so")
                _, report, text = report_of(os.path.join(TESTS, "fake_torch_driver"), library)
                self.assertIn(reason, report["recording"]["levels"]["torch"])
                self.assertIn(reason, " ".join(text.split()))
                self.assertEqual(report["steps"]["count"], 1, "the step of its C++ optimizer, no other")

    def test_a_build_with_nothing_that_fits_is_time_based(self):
        library = os.path.join(TESTS, "fake_torch", "EMPTY", "libtorch_cpu.so")
        _, report, text = report_of(os.path.join(TESTS, "fake_torch_driver"), library)
        self.check_time_based(report, text)
        self.assertIn("does not export at::addGlobalCallback; C++ methods: 0 of", report["recording"]["levels"]["torch"])

    def test_plateaus_own_python_code_is_no_site(self):
        _, report, _ = report_of(PYTHON, "-c", "import json; x = [bytes(20000) for _ in range(100)]")
        self.assertFalse([s["file"] for s in report["sites"] if "plateau_site" in s["file"]])

    def test_a_malloc_before_ours_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            text = """
#include <stddef.h>
static char heap[1 << 22]; static size_t used;
void* malloc(size_t n) { char* p = heap + used; used += (n + 31) / 16 * 16; return used <= sizeof heap ? p : 0; }
void* calloc(size_t n, size_t m) { return malloc(n * m); }
void free(void* p) { (void)p; }
void* realloc(void* p, size_t n) { (void)p; return malloc(n); }
int main(void) { return malloc(10001) == 0; }
"""
            program = compile_c(folder, "own_malloc", text, "-rdynamic", "-fno-builtin")
            _, report, shown = report_of(program)
            self.assertIn("malloc is that of the program itself", report["recording"]["levels"]["malloc"])
            self.assertIn("not traced: malloc is that of", " ".join(shown.split()))
        _, report, _ = report_of("/bin/true")
        self.assertNotIn("malloc", report["recording"]["levels"])

    def test_a_short_program_has_a_calibrated_clock(self):
        taken, report, _ = report_of("/bin/sh", "-c", "sleep 0.7; true")
        self.assertGreater(report["recording"]["duration_seconds"], 0.65)
        self.assertLess(report["recording"]["duration_seconds"], taken)


if __name__ == "__main__":
    unittest.main()
