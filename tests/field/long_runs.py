#!/usr/bin/env python3
"""Long runs: the program goes on as ever, the shim stays small, the counts are right and so is the verdict at the end.

    tests/field/long_runs.py [CASE...] [--build build/release] [--programs build/dev] [--scale S] [--work DIR]

CASE is one or several of

    events        100,000 steps and 1,000 million events under a limit of 64 MiB, default mode, leaking 400 bytes a step
    healthy       the same without the leak
    exact         100,000 steps and 200 million events in exact mode under a limit of 64 MiB, which turns into sampling and totals
    clock         a clock of the day and a monotonic clock that jump by hours to and fro, every second (libfaketime)
    suspended     SIGSTOP for 3 seconds and SIGCONT, five times, as a machine that is suspended
    forks         10,000 forks beside four busy threads: each child has its trace
    threads       4,096 threads that live at the same time, twice

and all of them when none is named. --scale multiplies steps, forks and threads. --build has plateau and the shim, --programs the programs of tests/programs.
One line a case: what was run, how long it took, events, size of the trace, the shim's own memory after a tenth of the run and at its end, the verdict.
Exit code 1 when anything is wrong.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Case:
    """One run: its program under the shim, then what the report says."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"plateau-long-{name}-", dir=options.work))
        self.recording = self.folder / "recording"
        self.wrong, self.words = [], []

    def scaled(self, count):
        return str(max(1, int(count * self.options.scale)))

    def start(self, *command, preload_behind="", **settings):
        program, *arguments = command
        shim = self.options.build.resolve() / "lib/libplateau.so"
        environment = dict(os.environ, LD_PRELOAD=f"{shim}{':' if preload_behind else ''}{preload_behind}", PLATEAU_OUT=str(self.recording), **settings)
        self.began = time.monotonic()
        return subprocess.Popen([self.options.programs / "tests/programs" / program, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process, expected_out=None):
        out, err = process.communicate()
        self.words.append(f"{time.monotonic() - self.began:.0f} s")
        self.expect(process.returncode == 0, f"exit {process.returncode}: {err[-300:]}")
        self.expect(err == "", f"it said: {err[-300:]}")
        if expected_out is not None:
            self.expect(out == expected_out, f"it printed {out!r}")
        return out

    def expect(self, is_right, words):
        if not is_right:
            self.wrong.append(words)

    def report(self):
        begin = time.monotonic()
        said = subprocess.run([self.options.build / "bin/plateau", "report", self.recording, "--json", "-"], capture_output=True, text=True)
        self.expect(said.returncode == 0, f"report: exit {said.returncode}: {said.stderr[-300:]}")
        report = json.loads(said.stdout)
        size = sum(file.stat().st_size for file in self.recording.iterdir())
        totals = report["totals"]
        self.words.append(f"{(totals['alloc_count'] + totals['free_count']) / 1e6:.1f} million calls, {size / 2**20:.1f} MiB, report in {time.monotonic() - begin:.1f} s")
        damage = report["damage"]
        self.expect(damage["blocks"] + damage["missing_blocks"] + damage["unreadable_files"] == 0, f"damage: {damage}")
        return report

    def own_memory(self, report):
        """The shim's memory after a tenth of the run and at its end."""
        rows = [row for row in report["ledger"] if row["own_bytes"] > 0]
        if len(rows) < 2:
            self.wrong.append(f"{len(rows)} rows of the ledger")
            return
        length = rows[-1]["time_seconds"]
        early = next(row for row in rows if row["time_seconds"] >= length / 10)
        self.words.append(f"own {early['own_bytes'] / 2**20:.2f} -> {rows[-1]['own_bytes'] / 2**20:.2f} MiB")
        self.expect(rows[-1]["own_bytes"] <= early["own_bytes"] * 1.1 + 2**20, "the shim's memory grows")

    def verdict(self, report, wanted, rate=None):
        self.words.append(report["verdict"])
        self.expect(report["verdict"] in wanted, f"verdict {report['verdict']}: {report['headline']['sentence']}")
        if rate and report["sites"]:
            found = report["sites"][0]["growth_bytes_per_step"]
            self.words.append(f"{found or 0:.0f} B/step, true {rate:.0f}")
            self.expect(found is not None and abs(found - rate) < 0.05 * rate, f"rate {found}")

    def finish(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        print(f"{'ok  ' if not self.wrong else 'FAIL'} {self.name}: {'; '.join(self.words)}", flush=True)
        for line in self.wrong:
            print(f"     {line}", flush=True)
        return bool(self.wrong)


LIMIT = {"PLATEAU_MAX_TRACE": "64M"}
# No pass over data is seen, so growth without an end may have that name.
LEAK, HEALTHY = {"leak", "slow_leak", "unbounded_growth"}, {"steady", "warmup_complete"}


def long_run(case, steps, blocks, kept, mode, wanted, disturb=None, preload_behind="", others=5000, **settings):
    """`others` is how many blocks somebody else in the process may take."""
    process = case.start("long_run", steps, str(blocks), str(kept), PLATEAU_MODE=mode, preload_behind=preload_behind, **LIMIT, **settings)
    if disturb:
        disturb(process)
    out = case.end(process)
    report = case.report()
    counted = int(out or 0)
    case.expect(counted <= report["totals"]["alloc_count"] <= counted + others, f"{report['totals']['alloc_count']} allocations counted, {counted} made")
    case.expect(sum(file.stat().st_size for file in case.recording.iterdir()) <= 64 * 2**20 + 4096, "the limit was not kept")
    case.expect(report["steps"]["count"] == int(steps), f"{report['steps']['count']} steps for {steps}")
    case.own_memory(report)
    # The block of step 0 is there before the steps that a rate is told of begin.
    behind_first = int(steps) - 1
    case.verdict(report, wanted, kept * (behind_first // 100) / behind_first if kept else None)


def events(case):
    long_run(case, case.scaled(100_000), 5000, 40_000, "default", LEAK)


def healthy(case):
    long_run(case, case.scaled(100_000), 5000, 0, "default", HEALTHY)


def exact(case):
    long_run(case, case.scaled(100_000), 1000, 40_000, "exact", LEAK)


def clock(case):
    """libfaketime stands behind the shim, which asks the C library for the time like everybody else. It allocates, also inside of hooks."""
    offset = case.folder / "offset"
    offset.write_text("+0\n")

    def jump(process):
        jumps = 0
        for offset_words in ("+2h", "-3h", "+0", "+40d", "-1d", "-30s", "+7h", "-5m") * 1000:
            time.sleep(1)
            if process.poll() is not None:
                break
            offset.write_text(f"{offset_words}\n")
            jumps += 1
        case.words.append(f"{jumps} jumps")

    long_run(case, case.scaled(20_000), 5000, 400_000, "default", LEAK, jump, FAKETIME, others=10**6, FAKETIME_TIMESTAMP_FILE=str(offset), FAKETIME_NO_CACHE="1", FAKETIME_DONT_RESET="1")


def suspended(case):
    def suspend(process):
        stops = 0
        while process.poll() is None and stops < 5:
            time.sleep(1)
            process.send_signal(signal.SIGSTOP)
            time.sleep(3)
            process.send_signal(signal.SIGCONT)
            stops += 1
        case.words.append(f"{stops} stops")

    long_run(case, case.scaled(20_000), 5000, 400_000, "default", LEAK, suspend)


def forks(case):
    count = case.scaled(10_000)
    case.end(case.start("fork_storm", count, PLATEAU_MODE="default"), "0 bad children\n")
    traces = len(list(case.recording.glob("*.plt")))
    case.words.append(f"{traces} traces")
    case.expect(traces == int(count) + 1, f"{traces} traces of {count} children and their parent")
    report = case.report()
    case.expect(len(report["processes"]) == int(count) + 1, f"{len(report['processes'])} processes in the report")


def threads(case):
    count = int(case.scaled(4096))
    case.end(case.start("short_threads", str(2 * count), str(count), PLATEAU_MODE="exact"), "done\n")
    report = case.report()
    # The report looks at a moment before the program ends; the trace has every block.
    dump = subprocess.run([case.options.build / "bin/plateau", "dump", *case.recording.glob("*.plt")], capture_output=True, text=True).stdout
    recorded = sum(" alloc " in line and "bytes=10001 " in line for line in dump.splitlines())
    case.words.append(f"{recorded} blocks of {2 * count} threads, {report['drops']['events']} events dropped")
    case.expect(recorded + report["drops"]["events"] >= 2 * count, "blocks are missing and nothing says so")


CASES = {"events": events, "healthy": healthy, "exact": exact, "clock": clock, "suspended": suspended, "forks": forks, "threads": threads}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/dev"))
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--work", help="where recordings are kept meanwhile")
    options = parser.parse_args()
    wrong = 0
    for name in options.cases or CASES:
        case = Case(name, options)
        try:
            CASES[name](case)
        finally:
            wrong += case.finish()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
