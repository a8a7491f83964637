#!/usr/bin/env python3
"""CPython's own tests with a walk for holders at every thousandth pending call, compared test by test with a run without Plateau.

    tests/field/holders/cpython_tests.py --build build/release --python PYTHON... [--log FILE] [TEST...]

storm.c makes the pending calls, so a walk comes about each 40 ms. Without tests all of them are run (hours), a process for
each file, in an order that a fixed seed shuffles; several interpreters take turns. With --log a line for each file is kept,
and what has a line is not run again. A method that ends otherwise with the walks than without is looked at three times; it
differs when it never ends alike.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
SITE = """
try:
    import atexit
    import ctypes
    storm = ctypes.CDLL({storm!r})
    if storm.start():
        atexit.register(storm.stop)
except (ImportError, OSError, AttributeError):
    pass
"""


def outcomes(path):
    """{method: how it ended} of regrtest's XML."""
    found = {}
    try:
        cases = xml.etree.ElementTree.parse(path).iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return found
    for case in cases:
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        found[case.get("name")] = "+".join(sorted(kinds)) or "passed"
    return found


def run(python, test, work, environment, limit):
    """(exit code or 'too long', {method: how it ended}, output)"""
    report, folder = os.path.join(work, "report.xml"), tempfile.mkdtemp(dir=work)
    if os.path.exists(report):
        os.remove(report)
    with open(os.path.join(work, "output"), "w+b") as output:
        process = subprocess.Popen([python, "-m", "test", "--junit-xml", report, test], cwd=folder, stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, **environment), stdout=output, stderr=output, start_new_session=True)
        try:
            code = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            code = "too long"
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what a test has left, or all of it
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    shutil.rmtree(folder, ignore_errors=True)
    return code, outcomes(report), text


def compare(build, python, test, work, limit):
    """One line: how the file went."""
    count = os.path.join(work, "count")
    under = {"LD_PRELOAD": os.path.join(build, "lib", "libplateau.so"), "PLATEAU_OUT": os.path.join(work, "recording"),
             "PLATEAU_SAMPLE_BYTES": "16K", "PYTHONPATH": os.path.join(work, "site"), "STORM_COUNT": count}
    walks, suspects, began = 0, None, time.time()
    for attempt in range(3):
        plain = run(python, test, work, {}, limit)
        open(count, "w").close()
        ours = run(python, test, work, under, 3 * limit)
        with open(count) as lines:
            walks += sum(int(line) for line in lines)
        shutil.rmtree(under["PLATEAU_OUT"], ignore_errors=True)
        if "too long" in (plain[0], ours[0]):
            return f"not compared: longer than {limit} s {'without Plateau' if plain[0] == 'too long' else 'with the walks'}", walks
        differ = {name for name in set(plain[1]) | set(ours[1]) if plain[1].get(name) != ours[1].get(name)}
        if plain[0] != ours[0]:
            differ.add(f"exit code {plain[0]} and {ours[0]}")
        suspects = differ if suspects is None else suspects & differ
        if not suspects:
            break
    if suspects:
        with open(os.path.join(work, "last_difference"), "w") as file:
            file.write(ours[2])
        return "DIFFERS: " + ", ".join(sorted(suspects)[:5]), walks
    kinds = sorted(set(ours[1].values()))
    ends = ", ".join(f"{sum(end == kind for end in ours[1].values())} {kind}" for kind in kinds)
    return f"as without ({ends or f'exit code {ours[0]}'}), {time.time() - began:.0f} s", walks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--python", action="append", required=True)
    parser.add_argument("--log")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one file without Plateau.  Defaults to 300.")
    parser.add_argument("test", nargs="*")
    options = parser.parse_args()
    build, work = os.path.abspath(options.build), tempfile.mkdtemp(prefix="cpython-tests-")
    storm = os.path.join(work, "storm.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", storm, os.path.join(HERE, "storm.c"), "-ldl", "-lpthread"], check=True)
    os.mkdir(os.path.join(work, "site"))
    with open(os.path.join(work, "site", "sitecustomize.py"), "w") as file:
        file.write(SITE.format(storm=storm))
    lists = []
    for python in options.python:
        tests = options.test
        if not tests:
            listed = subprocess.run([python, "-m", "test", "--list-tests"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
            tests = listed.stdout.split()
            random.Random(1).shuffle(tests)
        lists.append([(python, test) for test in tests])
    turns = [row for i in range(max(map(len, lists))) for rows in lists for row in rows[i:i + 1]]
    done = set()
    if options.log and os.path.exists(options.log):
        with open(options.log) as lines:
            done = {tuple(line.split()[:2]) for line in lines}
    files, walks, differ = 0, 0, 0
    for python, test in turns:
        if (python, test) in done:
            continue
        result, seen = compare(build, python, test, work, options.limit)
        files, walks, differ = files + 1, walks + seen, differ + result.startswith("DIFFERS")
        line = f"{python} {test} {seen} walks: {result}"
        print(line, flush=True)
        if options.log:
            with open(options.log, "a") as log:
                print(line, file=log)
    print(f"{files} files, {walks} walks, {differ} differ")
    shutil.rmtree(work, ignore_errors=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
