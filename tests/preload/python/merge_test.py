"""Merged stacks on every interpreter: the Python frames are those of sys._getframe(), and every group of them is
where its eval loop is.

The eval loops are found by address; this test finds them by symbol and compares: in a full stack no native frame of
_PyEval_EvalFrameDefault is left, because each is replaced by its Python frames, and in a leaf stack exactly one is.
"""
import os
import re
import subprocess
import sys
import tempfile

import construct_test
import interpreters
import json
import probe_trace

_ranges = {}


def eval_range(module):
    """Offsets of _PyEval_EvalFrameDefault in a module, None when it has none."""
    if module not in _ranges:
        out = subprocess.run(["nm", "-D", "-S", module], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        match = re.search(rb"^([0-9a-f]+) ([0-9a-f]+) T _PyEval_EvalFrameDefault", out, re.M)
        _ranges[module] = match and (int(match[1], 16), int(match[1], 16) + int(match[2], 16))
    return _ranges[module]


def is_eval(frame):
    where = eval_range(frame[1]) if frame[0] == "native" and frame[1] else None
    return bool(where) and where[0] < frame[2] <= where[1]


def check(python, mode, rounds, folder):
    trace, expected = os.path.join(folder, "trace"), os.path.join(folder, "expected")
    env = dict(os.environ, LD_PRELOAD=construct_test.PROBE, PROBE_OUT=trace, PROBE_MIN="100000", TRUTH_OUT=expected,
               PROBE_MERGE=mode, ROUNDS=str(rounds), PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")
    program = os.path.join(construct_test.HERE, "constructs.py")
    done = subprocess.run([python, program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280)
    if done.returncode != 0:
        sys.exit("%s: exit code %d\n%s" % (python, done.returncode, done.stderr.decode(errors="replace")))
    merged = probe_trace.Merged(trace)
    with open(expected) as stream:
        truth = json.load(stream)
    right, wrong, missing = construct_test.compare(truth, merged.python_only())
    left = native = extra = 0
    for n in truth:
        for stack in probe_trace.of_request(merged.stacks, int(n)):
            evals = sum(is_eval(frame) for frame in stack)
            native += sum(frame[0] == "native" for frame in stack)
            # A .cold part of the eval loop has no symbol of its own; an unmatched loop shows up as a full native stack.
            left += evals > 0 if mode == "full" else evals > 1
            last_python = max((i for i, frame in enumerate(stack) if frame[0] == "py"), default=0)
            extra += mode == "leaf" and any(frame[0] == "native" for frame in stack[last_python:])
    print("  %s: %d right, %d wrong, %d missing; %d with unmatched eval loops, %d unordered; %.1f native frames" %
          (mode, right, wrong, missing, left, extra, native / max(1, len(truth))), flush=True)
    return wrong == missing == left == extra == 0 and right > 0


def main():
    rounds = int(os.environ.get("PLATEAU_TEST_ROUNDS", "3"))
    good = True
    for python in interpreters.find():
        print(interpreters.label(python))
        for mode in ("leaf", "full"):
            with tempfile.TemporaryDirectory() as folder:
                good &= check(python, mode, rounds, folder)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
