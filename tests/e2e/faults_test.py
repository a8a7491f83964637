#!/usr/bin/env python3
"""The n-th system call of the shim fails, in each way that its manual page lists, for every n until the program ends: the
program must behave as ever, and the recording must be readable and own up to what is missing.

    tests/e2e/faults_test.py [--every N] [--subject WORD] [--verbose]

Without --every some sixty calls of each subject are chosen, each failing in one way; `--every 1` takes all calls and ways. With `--hold` all
calls from the n-th on fail. A call that fails is one of the shim's own, never one that it makes in the program's name (tests/faults/inject.cc).
"""
import argparse
import collections
import json
import mmap
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from plateau_cli import BUILD, PLATEAU, PYTHON, skip_unless

SHIM = BUILD / "tests/faults/libplateau.so"
PROGRAMS = BUILD / "tests/programs"
FIELDS = ("fail_at", "way", "keep_failing", "calls", "failed", "number", "error", "ways")
SHORT = 1 << 16
MOST_WAYS = 7
CALLS_CHOSEN = 60
MOST_CALLS = 100_000
LOST = "drops", "damage"

SNIPPET = """
import json, os, subprocess, threading
kept = []
def work(seed):
    for i in range(200):
        kept.append(json.dumps({str(k): [seed] * 50 for k in range(20)}))
threads = [threading.Thread(target=work, args=(t,)) for t in range(3)]
for t in threads: t.start()
for t in threads: t.join()
child = os.fork()
if child == 0:
    work(9)
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(kept), sum(map(len, kept)))
print(subprocess.run(["/bin/echo", "hello"], capture_output=True).stdout)
raise SystemExit(3)
"""

# name: command, mode; `truth` keeps its own books, which the report must have unless it says that something is missing.
SUBJECTS = {
    "truth": ([PROGRAMS / "truth", "3000", "1"], "exact"),
    "truth-sampled": ([PROGRAMS / "truth", "3000", "2"], "default"),
    "fork": ([PROGRAMS / "children", "fork"], "exact"),
    "spawn": ([PROGRAMS / "children", "spawn"], "exact"),
    "maps": ([PROGRAMS / "maps"], "exact"),
    "dlclose": ([PROGRAMS / "dlclose_reload", "5"], "exact"),
    "python": ([PYTHON, "-c", SNIPPET], "default"),
}


class Plan:
    """The page that the shim maps."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(mmap.PAGESIZE))
        self.file = open(path, "r+b")
        self.page = mmap.mmap(self.file.fileno(), mmap.PAGESIZE)

    def set(self, fail_at, way, keep_failing):
        self.page[:64] = struct.pack("8Q", fail_at, way, keep_failing, 0, 0, 0, 0, 0)

    def get(self):
        return dict(zip(FIELDS, struct.unpack("8Q", self.page[:64])))


class Subject:
    def __init__(self, name, folder):
        command, self.mode = SUBJECTS[name]
        self.name = name
        self.command = [str(word) for word in command]
        self.folder = folder
        self.plan = Plan(folder / "plan")
        self.recording = folder / "recording"

    def run(self, fail_at=0, way=0, keep_failing=0):
        """What the program did: exit code, stdout, and stderr without our own lines."""
        shutil.rmtree(self.recording, ignore_errors=True)
        self.plan.set(fail_at, way, keep_failing)
        environment = {**os.environ, "LD_PRELOAD": str(SHIM), "PLATEAU_OUT": str(self.recording), "PLATEAU_MODE": self.mode,
                       "PLATEAU_FAULT_PLAN": str(self.plan.path)}
        try:
            done = subprocess.run(self.command, env=environment, capture_output=True, text=True, errors="replace", timeout=120)
        except subprocess.TimeoutExpired:
            return "hangs", "", ""
        stderr = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("plateau: "))
        return done.returncode, self.stable(done.stdout), stderr

    def stable(self, text):
        """What is the same in every run: addresses are not, and what `truth` printed is compared with the report instead."""
        text = re.sub(r"0x[0-9a-f]+", "0x", text)
        if not self.name.startswith("truth"):
            return text
        self.books = {name: (int(count), int(size)) for name, count, size in re.findall(r"^(\w+<\d+>) (\d+) (\d+)$", text, re.M)}
        return len(text.splitlines())

    def report(self):
        """What is wrong with the recording, or None."""
        if not self.recording.exists() or not any(self.recording.iterdir()):
            return None  # nothing could be recorded; our line said so
        done = subprocess.run([PLATEAU, "report", self.recording, "--json", "-"], capture_output=True, text=True, timeout=120)
        if done.returncode == 3:
            return None  # no recording: said in one line
        if done.returncode:
            return f"report ends with {done.returncode}: {done.stderr[-300:]}"
        report = json.loads(done.stdout)
        for field in ("retained_bytes", "retained_count", "alloc_bytes", "alloc_count"):
            parts = sum(row[field] for row in report["sites"] + report["totals"]["leftovers"])
            if abs(parts - report["totals"][field]) > 1e-6 * abs(parts) + 1:
                return f"{field}: the parts are {parts}, the total {report['totals'][field]}"
        if self.name == "truth" and not any(value for key in LOST for value in report[key].values() if isinstance(value, (int, float))):
            return self.compare_books(report)
        return None

    def compare_books(self, report):
        stopped = any(process["ending"] != "ended in order" for process in report["processes"])
        if stopped or not report["processes"]:
            return None
        seen = collections.defaultdict(lambda: (0, 0))
        for site in report["sites"]:
            name = re.search(r"(AllocateAt|GrowAt)<\d+>", site["function"])
            if name:
                counts = (site["retained_count"], site["retained_bytes"])
                seen[name.group()] = tuple(map(sum, zip(seen[name.group()], counts)))
        missing = {name: (value, seen.get(name)) for name, value in self.books.items() if seen.get(name, (0, 0)) != value}
        return f"nothing is said to be lost, and these differ from the program's books: {missing}" if missing else None


class Check:
    """All faults of one subject."""

    def __init__(self, name, options, folder):
        self.subject = Subject(name, folder)
        self.options = options
        self.runs = 0
        self.wrong = []
        self.kinds = collections.Counter()
        self.expected = self.subject.run()
        self.calls = self.subject.plan.get()["calls"]
        problem = self.subject.report() if self.calls else "the shim makes no calls"
        if problem:
            self.wrong.append(f"{name} without a fault: {problem}")

    def try_way(self, fail_at, way):
        """One run: how many ways the call has to fail, 0 when it cannot; None behind the last call."""
        got = self.subject.run(fail_at, way, int(self.options.hold))
        plan = self.subject.plan.get()
        if plan["calls"] < fail_at:
            return None
        if way >= plan["ways"]:
            return plan["ways"]
        self.runs += 1
        self.kinds[plan["number"], plan["error"]] += 1
        error = "short" if plan["error"] == SHORT else os.strerror(plan["error"])
        what = f"{self.subject.name}: call {fail_at} (number {plan['number']}) failed: {error}"
        if self.options.verbose:
            print(what, got[0], flush=True)
        if got != self.expected:
            self.wrong.append(f"{what}: the program gave {str(got)[:300]} instead of {str(self.expected)[:300]}")
        elif problem := self.subject.report():
            self.wrong.append(f"{what}: {problem}")
        return plan["ways"]

    def run(self):
        step = self.options.every or max(1, self.calls // self.options.calls)
        fail_at = 1
        while fail_at < MOST_CALLS:
            first = 0 if self.options.every == 1 else fail_at % MOST_WAYS  # one way after another
            ways = self.try_way(fail_at, first)
            if ways is None:
                break
            if self.options.every == 1:
                for way in range(1, ways):
                    self.try_way(fail_at, way)
            elif first >= ways > 0:
                self.try_way(fail_at, first % ways)
            fail_at += step
        print(f"{self.subject.name}: {self.calls} calls of ours, {self.runs} of them failed in {len(self.kinds)} kinds, {len(self.wrong)} wrong",
              flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=0, help="take each N-th call; 1: all calls, in all ways")
    parser.add_argument("--calls", type=int, default=CALLS_CHOSEN)
    parser.add_argument("--subject", default="")
    parser.add_argument("--hold", action="store_true", help="all calls behind the chosen one fail as well")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    skip_unless(files=(SHIM,))
    runs, wrong = 0, []
    for name in SUBJECTS:
        if options.subject in name:
            with tempfile.TemporaryDirectory(prefix="plateau-faults-") as folder:
                check = Check(name, options, pathlib.Path(folder))
                check.run()
            runs += check.runs
            wrong += check.wrong
    for line in wrong:
        print("WRONG", line)
    print(f"{runs - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
