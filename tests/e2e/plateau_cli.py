"""What the scripts of tests/e2e share: the folders, running `plateau`, compiling a traced program, and checks that are counted.

PLATEAU_BUILD and PLATEAU_SOURCE name the build and the source folder, as ctest sets them; by hand:

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. /usr/bin/python3 tests/e2e/bundle_test.py
"""
import json
import os
import pathlib
import subprocess
import sys
import unicodedata

BUILD = pathlib.Path(os.environ["PLATEAU_BUILD"]).absolute()
SOURCE = pathlib.Path(os.environ["PLATEAU_SOURCE"]).absolute()
PLATEAU = str(BUILD / "bin/plateau")
SHIM = str(BUILD / "lib/libplateau.so")
EXAMPLES = str(SOURCE / "examples")
PYTHON = "/usr/bin/python3"  # Debian's, which has torch
SKIPPED = 77  # the exit code that ctest calls a skipped test


def run(*command, code=0, **options):
    """stdout of a command that must end with `code`; what it printed is in the error when it does not."""
    done = subprocess.run([word if isinstance(word, bytes) else os.fsencode(str(word)) for word in command], capture_output=True, **options)
    if done.returncode != code:
        shown = " ".join(map(str, command))
        printed = "".join(part if isinstance(part, str) else part.decode(errors="replace") for part in (done.stdout, done.stderr))
        raise AssertionError(f"{shown}: exit {done.returncode}, expected {code}\n{printed}")
    return done.stdout


def plateau(*arguments, code=0, **options):
    return run(PLATEAU, *arguments, code=code, **options)


def record(recording, *command, options=(), **more):
    """Records a program without printing the card: what the program printed, as text."""
    return plateau("run", "-q", "--no-report", *options, "-o", recording, "--", *command, text=True, **more)


def report_json(recording, **options):
    return json.loads(plateau("report", recording, "--json", "-", **options))


def report_text(recording, **options):
    return plateau("report", recording, **options).decode()


def compile_c(folder, name, text, *flags):
    """A C program that may use plateau/mark.h: its path."""
    source, program = pathlib.Path(folder, f"{name}.c"), pathlib.Path(folder, name)
    source.write_text(text)
    run("cc", "-g", "-O1", f"-I{SOURCE / 'preload/include'}", source, "-o", program, *flags)
    return program


def line_of(text, mark="# THE LINE"):
    """The number of the marked line of a program's text."""
    return text[:text.index(mark)].count("\n") + 1


def display_width(line):
    """Columns of a terminal."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def skip_unless(torch=False, files=(SHIM,)):
    """Ends as skipped where something this test needs was not built or is not installed."""
    for path in files:
        if not os.path.exists(path):
            print(f"skipped: no {path} in this build")
            sys.exit(SKIPPED)
    if torch and subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        print("skipped: no torch here")
        sys.exit(SKIPPED)


def failures(checks, *arguments, label=""):
    """Calls every check, goes on after one that fails, and says how each went: how many failed. A check may return a word of its own,
    such as why it skipped something."""
    failed = 0
    for check in checks:
        try:
            result = check(*arguments) or "ok"
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            result = f"FAILED: {type(error).__name__}: {error}"
        print(f"{label}{check.__name__}: {result}", flush=True)
    return failed
