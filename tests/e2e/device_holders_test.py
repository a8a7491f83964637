#!/usr/bin/env python3
"""Who holds device and pinned memory, through the whole chain on the null device: arrays of numpy whose data is a device's address
stand in for tensors, because a look asks for the address alone. And bytes that cannot be read, as those of a device, are not read.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. device_holders_test.py
"""
import os
import re
import subprocess
import sys
import tempfile

from plateau_cli import BUILD, PYTHON, SKIPPED, SOURCE, failures, line_of, record, report_json, run

LIBRARIES = str(BUILD / "tests/cuda_programs/site-packages")
NULL_DEVICE = str(BUILD / "tests/nulldevice/lib")
MIB = 1 << 20

HEAD = """
import ctypes, sys
import numpy
sys.path.insert(0, SOURCE + "/python")
from plateau_trace import mark
torch = ctypes.CDLL(LIBRARIES + "/libtorch_stand_in.so")
torch.stand_in_segment.restype = ctypes.c_void_p
torch.stand_in_segment.argtypes = [ctypes.c_size_t]
for name in ("block", "free"): getattr(torch, "stand_in_" + name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
cuda = ctypes.CDLL("libcudart.so.12")
MIB = 1 << 20
class Bytes:
    def __init__(self, address, size): self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}
def array(address, size): return numpy.asarray(Bytes(address, size))
class Trainer:
    def __init__(self): self.seen = []
trainer = Trainer()
"""

# A segment of 64 MiB; each step takes 1 MiB of it and keeps it, takes another one and gives it back, and the host keeps 100 kB.
TENSORS = HEAD + """
segment, on_host = torch.stand_in_segment(64 * MIB), {}
def work(step):
    torch.stand_in_block(segment, step * MIB, MIB)  # TENSOR
    trainer.seen.append({"features": array(segment + step * MIB, MIB)})
    torch.stand_in_block(segment, 63 * MIB, MIB)
    torch.stand_in_free(segment, 63 * MIB, MIB)
    on_host[step] = bytearray(100_001)  # HOST
for step in range(48):
    work(step)
    mark.step()
    if step % 12 == 11: mark.holders()
"""

PINNED = HEAD + """
def pinned(size):
    address = ctypes.c_void_p()
    assert cuda.cudaHostAlloc(ctypes.byref(address), ctypes.c_size_t(size), 0) == 0  # PINNED
    return array(address.value, size)
for step in range(40):
    trainer.seen.append((step, pinned(MIB)))
    mark.step()
    if step % 10 == 9: mark.holders()
"""

# The tensors' memory cannot be read while the walk goes over them, and a storage is an object of its own.
UNREADABLE = """
import ctypes, mmap
import torch
libc, SIZE = ctypes.CDLL(None, use_errno=True), 1 << 20
maps = [mmap.mmap(-1, SIZE) for _ in range(20)]
kept = [torch.frombuffer(m, dtype=torch.uint8) for m in maps]
storages = [t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()._storage for t in kept]
more = [bytearray(200_001) for _ in range(20)]
lost = [ctypes.cast(libc.malloc, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t))(200_001) for _ in range(8)]
def protect(how):
    for t in kept: assert libc.mprotect(ctypes.c_void_p(t.data_ptr()), ctypes.c_size_t(SIZE), how) == 0
protect(0)
found = ctypes.PyDLL(None).plateau_mark_holders()
protect(3)
print(found >= 20)
"""


def report_of(text):
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "program.py"), os.path.join(folder, "recording")
        with open(program, "w") as file:
            file.write(text.replace("LIBRARIES", repr(LIBRARIES)).replace("SOURCE", repr(str(SOURCE))))
        environment = dict(os.environ, LD_LIBRARY_PATH=NULL_DEVICE)
        record(recording, PYTHON, program, options=("--cuda",), timeout=120, env=environment)
        return report_json(recording)


def held(report, is_wanted, line):
    """The first path of the site in that line of the program and in some pools, and its lengths."""
    text = [site for site in report["sites"] if os.path.basename(site["file"]) == "program.py" and site["line"] == line]
    sites = [site for site in text if is_wanted(site["pool"]) and site["held_by"]]
    assert len(sites) == 1, [(site["pool"], site["file"], site["line"], site["retained_bytes"], site["held_by"]) for site in report["sites"]]
    path = sites[0]["held_by"][0]
    return path, [reading["items"] for reading in path["lengths"]]


def tensors_of_a_device_have_a_holder():
    report = report_of(TENSORS)
    path, lengths = held(report, lambda pool: pool == "device 0 tensors", line_of(TENSORS, "# TENSOR"))
    assert path["text"] == "trainer.seen[*]['features']", path
    assert path["share"] > 0.95 and lengths == [12, 24, 36, 48], path
    # The device has ten times as many bytes, and the host is named all the same.
    path, lengths = held(report, lambda pool: not pool.startswith("device"), line_of(TENSORS, "# HOST"))
    assert path["text"] == "on_host[*]" and lengths[-1] == 48, path


def pinned_memory_has_a_holder():
    path, lengths = held(report_of(PINNED), lambda pool: pool == "pinned", line_of(PINNED, "# PINNED"))
    assert path["text"] in ("trainer.seen[*][1]", "trainer.seen[*][*]"), path
    assert path["share"] > 0.95 and lengths == [10, 20, 30, 40], path


def bytes_that_cannot_be_read_are_not_read():
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode:
        return "skipped: no torch here"
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_PRELOAD=str(BUILD / "lib/libplateau.so"), PLATEAU_OUT=folder)
        out = run(PYTHON, "-W", "ignore", "-c", UNREADABLE, env=environment, text=True, timeout=120)
    assert re.fullmatch(r"True\n", out), out
    return None


def main():
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode:
        print("skipped: no numpy here")
        return SKIPPED
    checks = (tensors_of_a_device_have_a_holder, pinned_memory_has_a_holder, bytes_that_cannot_be_read_are_not_read)
    return 1 if failures(checks) else 0


if __name__ == "__main__":
    sys.exit(main())
