#!/usr/bin/env python3
"""Devices in the report, through the whole chain on the null device: pools, fragmentation, torch's cross-check, refusals with the
state at that moment and the Python line, and memory that a library takes from the driver for itself.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. cuda_report_test.py [-k NAME]
"""
import os
import tempfile
import unittest

from plateau_cli import BUILD, PYTHON, SOURCE, line_of, record, report_json, report_text

LIBRARIES = str(BUILD / "tests/cuda_programs/site-packages")
NULL_DEVICE = str(BUILD / "tests/nulldevice/lib")
MIB = 1 << 20

HEAD = """
import ctypes, sys
sys.path.insert(0, SOURCE + "/python")
from plateau_trace import mark
torch = ctypes.CDLL(LIBRARIES + "/libtorch_stand_in.so")
torch.stand_in_segment.restype = ctypes.c_void_p
for name in ("segment", "lie"): getattr(torch, "stand_in_" + name).argtypes = [ctypes.c_size_t]
for name in ("block", "free"): getattr(torch, "stand_in_" + name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
MIB = 1 << 20
"""

# Six blocks of 2 MiB in a segment of 16; two are freed again so that the holes are 2, 2 and 4 MiB.
HOLES = HEAD + """
segment = torch.stand_in_segment(16 * MIB)
for i in range(6): torch.stand_in_block(segment, 2 * i * MIB, 2 * MIB)
for step in range(30):
    torch.stand_in_block(segment, 12 * MIB, 4 * MIB)
    torch.stand_in_free(segment, 12 * MIB, 4 * MIB)
    mark.step()
    if step == 2:
        torch.stand_in_free(segment, 2 * MIB, 2 * MIB)
        torch.stand_in_free(segment, 6 * MIB, 2 * MIB)
"""

LEAK = HEAD + """
for step in range(60):
    segment = torch.stand_in_segment(2 * MIB)
    torch.stand_in_block(segment, 0, 2 * MIB)   # THE LINE
    mark.step()
    if step % 10 == 9: mark.epoch()
"""

LIE = HEAD + """
segment = torch.stand_in_segment(16 * MIB)
for step in range(4):
    torch.stand_in_block(segment, step * MIB, MIB)
    if step == 1: torch.stand_in_lie(4096)
    mark.step()
"""

REFUSED = HEAD + """
segment = torch.stand_in_segment(16 * MIB)
torch.stand_in_block(segment, 0, 6 * MIB)
for step in range(5): mark.step()
assert torch.stand_in_segment(1 << 30) is None   # THE LINE
mark.step()
"""

LIBRARY = HEAD + """
nccl = ctypes.CDLL(LIBRARIES + "/liblibrary_stand_in.so")
nccl.library_workspace.argtypes = [ctypes.c_size_t]
for step in range(8):
    if step == 3: assert nccl.library_workspace(10001) == 0
    mark.step()
"""


def report_of(text, memory=256 * MIB):
    """Runs the program on the null device: (the report as JSON, as text)."""
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "program.py"), os.path.join(folder, "recording")
        text = text.replace("LIBRARIES", repr(LIBRARIES)).replace("SOURCE", repr(str(SOURCE)))
        with open(program, "w") as file:
            file.write(text)
        environment = dict(os.environ, LD_LIBRARY_PATH=NULL_DEVICE, NULLDEVICE_BYTES=str(memory))
        record(recording, PYTHON, program, options=("--cuda",), timeout=120, env=environment)
        return report_json(recording), report_text(recording)


class CudaReportTest(unittest.TestCase):
    def test_live_reserved_and_fragmentation_of_a_device(self):
        report, text = report_of(HOLES)
        device, = report["devices"]
        self.assertEqual(device["device"], 0)
        self.assertEqual(device["reserved_bytes"], 16 * MIB)
        self.assertEqual(device["tensor_bytes"], 8 * MIB)
        self.assertEqual(device["tensor_peak_bytes"], 16 * MIB)
        self.assertEqual(device["free_in_segments_bytes"], 8 * MIB)
        self.assertEqual(device["largest_free_bytes"], 4 * MIB)
        self.assertEqual(device["fragmentation"], 0.5)
        self.assertEqual(device["torch_reserved_bytes"], 16 * MIB)
        self.assertEqual(device["torch_check"]["mismatches"], 0)
        self.assertEqual(device["torch_check"]["compared"], 68)
        self.assertIn("torch's own totals were compared at 68 blocks: equal all along", text)
        self.assertIn("50 %", text)
        tensors, = [curve for curve in report["tensors"] if curve["pool"] == "device 0 tensors"]
        self.assertEqual((tensors["live_count"][1], tensors["live_count"][-1]), (6, 4))
        self.assertEqual(tensors["live_bytes"][-1], 8 * MIB)

    def test_pools_have_the_documented_names_and_their_own_verdicts(self):
        report, _ = report_of(LEAK)
        pools = {pool["name"]: pool for pool in report["pools"]}
        self.assertLessEqual({"device 0 reserved", "device 0 tensors"}, set(pools))
        self.assertEqual(pools["device 0 tensors"]["verdict"], "leak")
        self.assertAlmostEqual(pools["device 0 tensors"]["growth_bytes_per_step"], 2 * MIB, delta=0.02 * MIB)
        site = max((s for s in report["sites"] if s["pool"] == "device 0 tensors"), key=lambda s: s["retained_bytes"])
        self.assertEqual((os.path.basename(site["file"]), site["line"]), ("program.py", line_of(LEAK)))
        self.assertEqual((site["retained_bytes"], site["tensor_count"]), (120 * MIB, 60))

    def test_totals_of_torch_that_part_from_ours_are_mismatches(self):
        report, text = report_of(LIE)
        check = report["devices"][0]["torch_check"]
        self.assertEqual((check["compared"], check["mismatches"], check["last_difference_bytes"]), (4, 1, 4096))
        self.assertIn("they parted 1 time, last by 4.00 KiB", text)

    def test_a_refusal_has_the_state_of_its_moment_and_the_line(self):
        report, text = report_of(REFUSED)
        self.assertEqual(report["out_of_memory_count"], 2)
        runtime, torch = report["out_of_memory"]
        self.assertEqual((runtime["level"], runtime["call"]), ("runtime", "cudaMalloc"))
        self.assertEqual(torch["level"], "torch")
        for refusal in (runtime, torch):
            self.assertEqual(refusal["requested_bytes"], 1 << 30)
            self.assertEqual(refusal["device"], 0)
            self.assertEqual(refusal["reserved_bytes"], 16 * MIB)
            self.assertEqual(refusal["tensor_bytes"], 6 * MIB)
            self.assertEqual(refusal["free_in_segments_bytes"], 10 * MIB)
            self.assertEqual(refusal["limit_bytes"], 256 * MIB)
            self.assertEqual(refusal["driver_used_bytes"], 16 * MIB)
            self.assertEqual((os.path.basename(refusal["file"]), refusal["line"]), ("program.py", line_of(REFUSED)))
        self.assertIn("Out of memory", text)
        self.assertIn("refused 1.00 GiB", text)

    def test_memory_of_a_library_is_shown_under_the_library(self):
        report, _ = report_of(LIBRARY)
        site, = [s for s in report["sites"] if s["retained_bytes"] == 10001]
        self.assertEqual(site["pool"], "device 0 reserved")
        self.assertEqual(os.path.basename(site["module"]), "liblibrary_stand_in.so")
        self.assertIn("program.py", " ".join(frame["file"] for frame in site["stack"]), "its caller is in the stack")

    def test_a_program_without_a_device_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            record(f"{folder}/r", PYTHON, "-c", "pass")
            report = report_json(f"{folder}/r")
        self.assertEqual((report["devices"], report["out_of_memory"], report["out_of_memory_count"]), ([], [], 0))
        self.assertIn("no device memory", report["recording"]["levels"]["cuda"])
        self.assertIn("no torch library", report["recording"]["levels"]["torch"])
        self.assertIn("the clock is time", " ".join(report["recording"]["notes"]))
        self.assertEqual(report["steps"]["count"], 0)


if __name__ == "__main__":
    unittest.main()
