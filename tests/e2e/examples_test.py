#!/usr/bin/env python3
"""Every example under the shim: the verdict it names at its top, and the line it marks.

    examples_test.py [--modes default,exact] [--repeat N] [--keep FOLDER] [NAME...]

The expected verdict and the marked lines (`LEAK`, `HOLDS`) are read from the examples themselves, so a new example is tested as
soon as it exists. Steps, epochs and evaluations are compared with the program's own counts on the way.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from plateau_cli import BUILD, EXAMPLES, PYTHON, SHIM, SOURCE, report_json, run as run_command, skip_unless

SITE_HOOK = str(SOURCE / "python/plateau_site")

RUN_SECONDS = 900  # some seconds on an idle machine; exact mode on a busy one takes minutes

# Verdicts that say what is said of a marked line.
GROWS = {"leak", "slow_leak", "staircase"}


class Case:
    def __init__(self, name, path, arguments, accepted, command):
        self.name = name
        self.arguments = arguments
        self.accepted = accepted
        self.command = command
        self.lines = {"LEAK": set(), "HOLDS": set()}
        for file in [path, *self.companions(path)]:
            with open(file) as text:
                for number, line in enumerate(text, 1):
                    for marker in self.lines:
                        if re.search(rf"(#|//) {marker}\b", line):
                            self.lines[marker].add((os.path.basename(file), number))

    @staticmethod
    def companions(path):
        """C++ files that a Python example names in its own text."""
        with open(path) as text:
            names = re.findall(r"cpp/(\w+\.cc)", text.read())
        return [os.path.join(EXAMPLES, "cpp", name) for name in names]


def find_cases():
    cases = []
    for name in sorted(os.listdir(EXAMPLES)):
        path = os.path.join(EXAMPLES, name)
        if not name.endswith(".py") or name == "support.py":
            continue
        with open(path) as text:
            head = text.read().split('"""')[1]
        for option, expected in re.findall(r"Expected verdict(?: with (--\w+))?: (.*)", head):
            accepted = set(re.findall(r"\b[a-z]+(?:_[a-z]+)*\b", expected.split("(the")[0].split(", ")[0]))
            accepted &= GROWS | {"steady", "warmup_complete", "cache_fill", "spike_recovered", "spike_retained", "fragmentation",
                                 "untraced_growth", "allocator_retention", "worker_duplication", "inconclusive"}
            if "leak" in accepted:
                accepted.add("slow_leak")  # the same, small against the memory of the machine it ran on
            arguments = [option] if option else []
            extra = [os.path.join(BUILD, "examples", "libleaky_tokenizer.so")] if name == "extension_leak.py" else []
            cases.append(Case(name, path, arguments, accepted, [PYTHON, path, *arguments, *extra]))
    program = os.path.join(BUILD, "examples", "training_loop")
    if os.path.exists(program):
        path = os.path.join(EXAMPLES, "cpp", "training_loop.cc")
        cases.append(Case("training_loop.cc", path, [], {"steady"}, [program]))
        cases.append(Case("training_loop.cc", path, ["--leak"], {"leak", "slow_leak"}, [program, "--leak"]))
        unmarked = ["--leak", "--unmarked"]
        cases.append(Case("training_loop.cc", path, unmarked, {"unbounded_growth"}, [program, *unmarked]))
    return cases


def run(case, mode, keep):
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            folder = os.path.join(keep, "-".join([case.name, *case.arguments, mode]))
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        recording = os.path.join(folder, "recording")
        environment = dict(os.environ, LD_PRELOAD=SHIM, PLATEAU_OUT=recording, PLATEAU_MODE=mode, PYTHONPATH=SITE_HOOK)
        printed = run_command(*case.command, env=environment, text=True, timeout=RUN_SECONDS)
        truth = json.loads(printed.splitlines()[-1])["truth"]
        if keep:
            with open(os.path.join(folder, "truth.json"), "w") as text:
                json.dump(truth, text)
        return truth, report_json(recording, timeout=RUN_SECONDS)


def problems(case, truth, report):
    """What is wrong with a report; empty when nothing is."""
    wrong = []
    if report["verdict"] not in case.accepted:
        wrong.append(f"verdict {report['verdict']}, expected {' or '.join(sorted(case.accepted))}")
    for key, found in (("steps", report["steps"]["count"]), ("epochs", report["steps"]["epochs"]),
                       ("evaluations", report["steps"]["evaluations"])):
        if found != truth[key]:
            wrong.append(f"{key}: {found}, the program counted {truth[key]}")
    growing = [site for site in report["sites"] if site["verdict"] in GROWS]
    if report["verdict"] == "worker_duplication":
        named = [f"{file}:{line}" for file, line in case.lines["HOLDS"]]
        if not any(name in report["headline"]["summary"] for name in named):
            wrong.append(f"the copied pages' line {named} is not in: {report['headline']['summary']}")
    expects_growth = bool(case.accepted & GROWS)
    if expects_growth:
        marked = [s for s in growing if (os.path.basename(s["file"]), s["line"]) in case.lines["LEAK"]]
        if not marked:
            first = growing[0]["site"] if growing else "no site"
            wrong.append(f"{first} grows, marked are {sorted(case.lines['LEAK'])}")
        elif growing[0] not in marked:
            wrong.append(f"the first growing site is {growing[0]['site']}")
        if marked and "leak_bytes_per_step" in truth:
            rate = sum(site["growth_bytes_per_step"] for site in marked)
            if abs(rate / truth["leak_bytes_per_step"] - 1) > 0.1:
                wrong.append(f"rate {rate:.0f}, the program leaks {truth['leak_bytes_per_step']} a step")
    elif growing:
        wrong.append(f"a false {growing[0]['verdict']}: {growing[0]['site']}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modes", default="default")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--keep", help="leave the recordings in this folder, the last of each example and mode")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failures = 0
    for case in find_cases():
        if options.names and not any(name in case.name for name in options.names):
            continue
        for mode in options.modes.split(","):
            for _ in range(options.repeat):
                try:
                    truth, report = run(case, mode, options.keep)
                    wrong = problems(case, truth, report)
                    verdict = report["verdict"]
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    wrong, verdict = [str(error)], "-"
                failures += bool(wrong)
                label = " ".join([case.name, *case.arguments])
                print(f"{'FAIL' if wrong else 'ok':5}{label:36} {mode:8} {verdict:20} {'; '.join(wrong)}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    skip_unless(torch=True)
    sys.exit(main())
