"""Captured stacks against sys._getframe() on every interpreter: none wrong, none missing.

usage: construct_test.py [--program constructs.py] [--rounds N]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import interpreters
import probe_trace

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = os.path.join(os.environ["PLATEAU_BUILD"], "tests", "libpython_probe.so")


def run(python, program, rounds, folder):
    trace, expected = os.path.join(folder, "trace"), os.path.join(folder, "expected")
    env = dict(os.environ, LD_PRELOAD=PROBE, PROBE_OUT=trace, PROBE_MIN="100000", TRUTH_OUT=expected,
               ROUNDS=str(rounds), PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")
    done = subprocess.run([python, os.path.join(HERE, program)], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=280)
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        sys.exit("%s: exit code %d\n%s" % (python, done.returncode, done.stderr.decode(errors="replace")))
    with open(expected) as stream:
        return json.load(stream), probe_trace.read(trace)


def matches(expected, captured):
    if expected[0][0] == "...":
        return len(captured) > len(expected) - 1 and captured[1 - len(expected):] == expected[1:]
    return captured == expected[:128]


def compare(expected, captured):
    """(right, wrong, missing), the first few differences printed."""
    right = wrong = missing = 0
    for n, stack in expected.items():
        stack = [tuple(frame) for frame in stack]
        seen = probe_trace.of_request(captured, int(n))
        if not seen:
            missing += 1
            if missing < 5:
                print("  missing %s: %s" % (n, stack[0]))
        elif any(matches(stack, other) for other in seen):
            right += 1
        else:
            wrong += 1
            if wrong < 5:
                print("  wrong %s:\n    expected %r\n    captured %r" % (n, stack[:8], seen[0][:8]))
    return right, wrong, missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="constructs.py")
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("PLATEAU_TEST_ROUNDS", "10")))
    options = parser.parse_args()
    failed, ran = False, 0
    for python in interpreters.find():
        with tempfile.TemporaryDirectory() as folder:
            result = run(python, options.program, options.rounds, folder)
        if result is None:
            continue
        ran += 1
        expected, captured = result
        right, wrong, missing = compare(expected, captured)
        print("%s: %d right, %d wrong, %d missing" % (interpreters.label(python), right, wrong, missing), flush=True)
        failed |= wrong > 0 or missing > 0 or right == 0
        # The comparison itself must be able to fail.
        spoilt = {n: [(f, name, line + 1) for f, name, line in stack] for n, stack in expected.items()}
        if ran == 1 and compare_quietly(spoilt, captured) != 0:
            sys.exit("a wrong expectation was called right")
    if ran == 0:
        sys.exit(77)
    sys.exit(1 if failed else 0)


def compare_quietly(expected, captured):
    return sum([tuple(f) for f in stack] in captured.get(int(n), []) for n, stack in expected.items())


if __name__ == "__main__":
    main()
