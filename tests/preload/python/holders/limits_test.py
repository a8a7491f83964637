"""A look where there is little memory or a great many objects: limits_test.py near_the_limit | ten_million [PYTHON]

near_the_limit: in a cgroup of version 1 with a limit of 300 MiB, where this machine lets us make one, a look is made while there is
room, and is left out, with its reason in the report, when there is not. ten_million (1.5 GB; by hand): the look ends in time,
names what lies beside the great list, and says that it was cut.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["PLATEAU_BUILD"]
PLATEAU = os.path.join(BUILD, "bin", "plateau")
SKIPPED = 77
MIB = 1 << 20

NEAR = """
import ctypes
holders = ctypes.PyDLL(None).plateau_mark_holders
kept = [bytearray(20001) for _ in range(50)]
with_room = holders()
limit = int(open("/sys/fs/cgroup/memory{group}/memory.limit_in_bytes").read())
used = lambda: int(open("/sys/fs/cgroup/memory{group}/memory.usage_in_bytes").read())
ballast = []
while limit - used() > 44 * 1024 * 1024: ballast.append(b"x" * (1 << 20))
without = holders()
del ballast
print(with_room >= 50, without)
"""

MANY = """
import ctypes, time
holders = ctypes.PyDLL(None).plateau_mark_holders
beside = {"kept": [bytearray(20001) for _ in range(50)]}
many = [[i] for i in range(10_000_000)]
begin = time.thread_time()
found = holders()
print(found >= 50, time.thread_time() - begin < 1.0)
"""


def record(program, python, group=None):
    """(stdout, the walks of the dump, the report's text)"""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "lib", "libplateau.so"), PLATEAU_OUT=folder, PLATEAU_HOLDERS="0")
        inside = ["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh"] if group else []
        done = subprocess.run(inside + ["env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", python, "-c", program], env=env, capture_output=True,
                              text=True, timeout=300, check=False)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
        dump = subprocess.run([PLATEAU, "dump", folder], capture_output=True, text=True, timeout=300, check=True).stdout
        report = subprocess.run([PLATEAU, "report", folder], capture_output=True, text=True, timeout=300, check=True).stdout
    return done.stdout.strip(), re.findall(r"^(?:@\d+ )?(holder_walk .*)", dump, re.M), report


def near_the_limit(python):
    name = f"/plateau-test-{os.getpid()}"
    group = pathlib.Path(f"/sys/fs/cgroup/memory{name}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(300 * MIB))
    except OSError as error:
        print(f"skipped: no cgroup of our own here ({error})")
        return SKIPPED
    try:
        out, walks, report = record(NEAR.replace("{group}", name), python, group)
    finally:
        group.rmdir()
    print(out, *walks, sep="\n")
    assert out == "True -1", out
    assert " result=done " in walks[0] and " result=skipped_memory " in walks[1], walks
    assert "too near to its memory limit" in report, report
    return 0


def ten_million(python):
    out, walks, report = record(MANY, python)
    print(out, *walks, sep="\n")
    assert out == "True True", out
    assert " result=cut_by_time " in walks[0], walks
    assert "ended early at a limit of time or memory" in report, report
    return 0


if __name__ == "__main__":
    sys.exit({"near_the_limit": near_the_limit, "ten_million": ten_million}[sys.argv[1]]((sys.argv[2:] or ["/usr/bin/python3"])[0]))
