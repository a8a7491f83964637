"""Turns recordings into tables with the command `plateau export -f parquet`, several at a time."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from plateau_trace.installation import find_plateau

# One recording. A machine that is out of memory kills the largest process, which may be ours: once more, then it is a row with a reason.
ATTEMPTS = 2
TIMEOUT_SECONDS = 3600


class MapError(Exception):
    """Tables cannot be written at all: no `plateau` here, a disk that is full, an option that is wrong."""


def _command():
    plateau = find_plateau()
    if plateau is None:
        raise MapError("the command `plateau` is neither part of this package nor in PATH; set PLATEAU_BIN")
    return plateau


def _run(words):
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS)


def write_one(recording, folder, job=None):
    """Writes the tables of one recording. What cannot be read becomes a row with its reason."""
    command = [_command(), "export", recording, "-f", "parquet", "-o", folder] + (["--job", job] if job else [])
    reason = ""
    for _ in range(ATTEMPTS):
        try:
            done = _run(command)
        except subprocess.TimeoutExpired:
            reason = "the analysis took longer than %d s" % TIMEOUT_SECONDS
            continue
        if done.returncode == 0:
            return
        said = done.stderr.decode(errors="replace").strip().splitlines()
        if done.returncode > 0:
            raise MapError(said[-1] if said else "plateau export ended with code %d" % done.returncode)
        reason = "the analysis was ended by signal %d" % -done.returncode
    done = _run(command + ["--failed", reason])
    if done.returncode != 0:
        raise MapError(done.stderr.decode(errors="replace").strip())


def write(recordings, folder, job=None, workers=None, progress=None):
    """Writes the tables of all recordings, as many at a time as the machine has processors."""
    recordings = list(recordings)
    workers = workers or len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(max(1, min(workers, len(recordings)))) as pool:
        for count, _ in enumerate(pool.map(lambda recording: write_one(recording, folder, job), recordings), 1):
            if progress:
                progress(count, len(recordings))


def read_one(recording, job=None):
    """The tables of one recording as [(path below the folder of tables, content)]: for workers that share no disk."""
    with tempfile.TemporaryDirectory(prefix="plateau-fleet-") as folder:
        write_one(recording, folder, job)
        files = []
        for directory, _, names in os.walk(folder):
            for name in sorted(names):
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    files.append((os.path.relpath(path, folder), file.read()))
        return sorted(files)


def save(files, folder):
    """Writes what read_one() gave. A file appears whole or not at all; one that came twice is the same."""
    for path, content in files:
        parts = path.split("/")
        if os.path.isabs(path) or ".." in parts:
            raise MapError("%s: not a path below the folder of tables" % path)
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target))
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, target)


def show_progress(count, total):
    """On a terminal: how far the map is."""
    if sys.stderr.isatty():
        print("\rplateau: %d of %d recordings" % (count, total), end="\n" if count == total else "", file=sys.stderr, flush=True)
