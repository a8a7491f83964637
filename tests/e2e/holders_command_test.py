"""`plateau holders` asks a running Python program, waits for its answer and prints the path; of an ended one, what there is."""
import pathlib
import subprocess
import sys
import tempfile
import time

from plateau_cli import PLATEAU, PYTHON, failures

PATIENCE = 120  # seconds; a loaded machine is slow

PROGRAM = """
import os, sys, time
class Cache:
    def __init__(self):
        self.pages = {}
cache = Cache()
def serve(i):
    cache.pages[i] = bytearray(20001)
i = 0
while not os.path.exists(sys.argv[1]):
    serve(i)
    i += 1
    if i == 50:
        open(sys.argv[2], "w").close()
    time.sleep(0.01)
"""


def holders(recording, *options):
    return subprocess.run([PLATEAU, "holders", *options, recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=300, universal_newlines=True)


def check_running_and_ended(folder):
    script, stop, ready, recording = (pathlib.Path(folder, name) for name in ("serve.py", "stop", "ready", "recording"))
    script.write_text(PROGRAM)
    program = subprocess.Popen([PLATEAU, "run", "-o", recording, "--quiet", "--", PYTHON, script, stop, ready],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        answer = holders(recording, "--wait", str(PATIENCE))
    finally:
        stop.touch()
        program.wait(timeout=PATIENCE)
    after = holders(recording)
    for done in (answer, after):
        assert done.returncode == 0 and "cache.pages" in done.stdout, done
    assert "has not answered" not in answer.stdout, answer
    assert "has ended" in after.stdout, after


def main():
    with tempfile.TemporaryDirectory(prefix="plateau-holders-") as folder:
        return failures((check_running_and_ended,), folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
