"""Jobs of several ranks for tests of `plateau export -f parquet` and `plateau fleet`, and the Python that has DuckDB.

The ranks are small Python programs without torch, started as a launcher starts them: by RANK and WORLD_SIZE.
"""
import contextlib
import fcntl
import os
import subprocess
import sys

from plateau_cli import SOURCE, plateau

RANK_PROGRAM = """
import os, signal, sys
import plateau_trace.mark as mark
rank, kept = int(os.environ["RANK"]), []
leak, cache, kill, late = (int(word) for word in sys.argv[1:5])
if rank == cache:
    kept.append(bytearray(48 << 20))
for step in range(120):
    batch = [bytearray(20001) for _ in range(4)]
    if rank == leak:
        kept.append(bytearray(70001))  # THE LINE
    mark.step()
    if step % 30 == 29:
        mark.epoch()
    if rank == kill and step == 60:
        os.kill(os.getpid(), signal.SIGKILL)
"""
LAUNCHER = """
import os, subprocess, sys
world, first, program, *arguments = sys.argv[1:]
ranks = [subprocess.Popen([sys.executable, program, *arguments], env=dict(os.environ, RANK=str(int(first) + i), LOCAL_RANK=str(i), WORLD_SIZE=world))
         for i in range(int(os.environ["RANKS_HERE"]))]
sys.exit(max(abs(rank.wait()) for rank in ranks) and 1)
"""


def record_job(folder, recording, ranks=4, first=0, world=None, leak=-1, cache=-1, kill=-1, **environment):
    """Records so many ranks into one directory, as one node of a job of `world` ranks."""
    program, launcher = os.path.join(folder, "train.py"), os.path.join(folder, "launcher.py")
    for path, text in ((program, RANK_PROGRAM), (launcher, LAUNCHER)):
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(text)
    plateau("run", "-q", "--no-report", "-o", recording, "--", sys.executable, launcher, world or ranks, first, program, leak, cache, kill, 0,
            code=1 if kill >= 0 else 0,
            env=dict(os.environ, RANKS_HERE=str(ranks), PYTHONPATH=str(SOURCE / "python"), **environment))
    return recording


def fleet_python():
    """A Python with DuckDB, made once by `tools/setup test` or here; None where the package registry cannot be reached."""
    folder = SOURCE / "build/fleet"
    python = folder / "bin/python3"
    folder.parent.mkdir(exist_ok=True)
    with open(str(folder) + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for attempt in range(2):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run([python, "-c", "import duckdb"], check=True, capture_output=True)
                return str(python)
            if attempt == 0:
                subprocess.run([SOURCE / "tools/setup", "fleet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("no DuckDB: the package registry cannot be reached, so what needs it is left out", file=sys.stderr)
    return None
