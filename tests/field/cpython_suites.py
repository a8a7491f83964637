#!/usr/bin/env python3
"""CPython's own suites, with and without the shim, compared test by test.

    tests/field/cpython_suites.py PYTHON [MODULE...] [--build build/release] [--mode default|exact] [--done FILE] [--until HH:MM] [--limit S]

PYTHON is an interpreter that has the package `test`. Each module of its suite (all of them when none is named) runs once bare and once under
libplateau.so, in a folder and a process of its own; a test is told by its class and name, its result is passed, failed, error or skipped. Where the two
differ, both run twice more, and a test counts as different only when no run under the shim gave what some bare run did: many of CPython's tests depend
on the clock and on how busy the machine is. One line a module that differs, and one for the whole. --done keeps the names of modules that are through, with their
counts, and leaves them out the next time, so that a soak may be stopped and goes on. Exit code 1 when a test differs.
"""
import argparse
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

# Both ask the allocator who it is: docs/limitations.md.
NOTICED = ("test_debugmallocstats", "test_pythonmalloc")
RANKS = ("passed", "skipped", "failure", "error")


def results_of(path):
    """{class and name: result} of a junit file; None when the module ended without one."""
    try:
        cases = tree.parse(path).iter("testcase")
    except (OSError, tree.ParseError):
        return None
    found = {}
    for case in cases:
        name = f"{case.get('classname') or ''}.{case.get('name')}"
        if any(word in name for word in NOTICED):
            continue
        kinds = {child.tag for child in case}
        # Subtests share a name: the worst of them counts.
        found[name] = max(found.get(name, 0), max([RANKS.index(kind) for kind in kinds if kind in RANKS], default=0))
    return {name: RANKS[rank] for name, rank in found.items()}


class Suite:
    def __init__(self, options):
        self.options = options
        self.shim = options.build.resolve() / "lib/libplateau.so"

    def run(self, module, traced):
        """The results of one run, and how the process ended."""
        with tempfile.TemporaryDirectory(prefix="plateau-suite-") as folder:
            environment = dict(os.environ, TMPDIR=folder, PYTHONDONTWRITEBYTECODE="1")
            for name in [name for name in environment if name.startswith("PLATEAU_")] + ["LD_PRELOAD", "PYTHONUNBUFFERED"]:
                environment.pop(name, None)
            if traced:
                environment.update(LD_PRELOAD=str(self.shim), PLATEAU_MODE=self.options.mode, PLATEAU_OUT=f"{folder}/recording", PLATEAU_MAX_TRACE="64M")
            ignored = [word for name in NOTICED for word in ("-i", name)]
            command = [self.options.python, "-m", "test", "--timeout", str(self.options.limit), *ignored, "--junit-xml", f"{folder}/results.xml", module]
            os.mkdir(f"{folder}/cwd")
            with open(f"{folder}/log", "wb") as log:
                process = subprocess.Popen(command, env=environment, cwd=f"{folder}/cwd", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
                try:
                    code = process.wait(self.options.limit + 60)
                except subprocess.TimeoutExpired:
                    code = "time-out"
                finally:
                    try:
                        os.killpg(process.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    process.wait()
            said = [line for line in pathlib.Path(f"{folder}/log").read_text(errors="replace").splitlines() if line.startswith("plateau: ")]
            results = results_of(f"{folder}/results.xml")
            for trace in pathlib.Path(folder).rglob("*"):
                if trace.is_dir() and not trace.is_symlink():
                    trace.chmod(0o700)
            return results, code, said

    def compare(self, module):
        """Number of tests, and those that differ: [(name, bare results, traced results)]."""
        bare, traced, said = [self.run(module, False)], [self.run(module, True)], []
        if bare[0][:2] != traced[0][:2]:
            for _ in range(2):
                bare.append(self.run(module, False))
                traced.append(self.run(module, True))
        for run in traced:
            said += run[2]
        differing = []
        names = set().union(*(run[0] or {} for run in bare + traced))
        for name in sorted(names):
            without = {(run[0] or {}).get(name, "absent") for run in bare}
            under = {(run[0] or {}).get(name, "absent") for run in traced}
            if not without & under:
                differing.append((name, without, under))
        # A module that dies leaves no results: its exit code is what is left to compare.
        if not {run[1] for run in bare} & {run[1] for run in traced}:
            differing.append((f"{module}: exit code", {str(run[1]) for run in bare}, {str(run[1]) for run in traced}))
        return len(names), differing, len(bare) > 1, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--mode", default="default", choices=("default", "exact"))
    parser.add_argument("--done", type=pathlib.Path, help="modules that are through, a line each")
    parser.add_argument("--until", help="no module is begun at this time of the day or later")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one run of a module")
    options = parser.parse_args()
    modules = options.modules or subprocess.run([options.python, "-m", "test", "--list-tests"], capture_output=True, text=True, check=True).stdout.split()
    through = {}
    if options.done and options.done.exists():
        for line in options.done.read_text().splitlines():
            name, tests, differ = line.split("\t")[:3]
            through[name] = (int(tests), int(differ))
    suite = Suite(options)
    for module in modules:
        if module in through:
            continue
        if options.until and datetime.datetime.now().strftime("%H:%M") >= options.until:
            break
        tests, differing, again, said = suite.compare(module)
        through[module] = (tests, len(differing))
        if options.done:
            with options.done.open("a") as done:
                done.write(f"{module}\t{tests}\t{len(differing)}\t{'again' if again else ''}\n")
        for name, without, under in differing:
            print(f"DIFFERS {name}: {'/'.join(sorted(without))} without, {'/'.join(sorted(under))} under the shim", flush=True)
        for line in said[:3]:
            print(f"SAID {module}: {line}", flush=True)
    tests = sum(count for count, _ in through.values())
    differing = sum(count for _, count in through.values())
    print(f"{len(through)} of {len(modules)} modules, {tests} tests, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
