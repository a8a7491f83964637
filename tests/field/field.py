#!/usr/bin/env python3
"""Runs programs with a known truth under `plateau run` and prints what Plateau said beside it.

    tests/field/field.py FOLDER [WORD...] [--python PYTHON] [--plateau BINARY] [--repeat N] [--preload LIBRARY] [-- OPTION...]

FOLDER has the programs, WORDs choose those whose name contains one of them. The truth is in truth.tsv beside this script, or in
FOLDER/truth.tsv, or in the file that --truth names; a program that has none is run and shown, never counted. Options behind `--` go to
`plateau run`. The environment is passed on, so SCALE=3 runs a program longer where it knows that variable. Ends with 1 when a run was wrong.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FIRST_SITES = 3


def read_truth(path):
    """Rows of the table: (program with its arguments, right headlines, mark of the line or None, what must not be said)."""
    rows = []
    for text in path.read_text().splitlines():
        if not text.strip() or text.startswith("#"):
            continue
        program, verdicts, mark, never = text.split("\t")
        rows.append((program, verdicts.split(","), None if mark == "-" else mark, never))
    return rows


def marked_lines(script, mark):
    """Lines with the comment "# MARK", or, for "text:...", those with that text."""
    if mark.startswith("text:"):
        return {number for number, text in enumerate(script.read_text().splitlines(), 1) if mark[5:] in text}
    return {number for number, text in enumerate(script.read_text().splitlines(), 1) if f"# {mark}" in text and not text.startswith("#")}


def analyse(options, script, arguments, recording):
    """The report of one run, as JSON, and how long the program took."""
    environment = dict(os.environ)
    if options.preload:
        environment["LD_PRELOAD"] = options.preload
    note = "judged anew"
    if not options.again:
        began = time.monotonic()
        run = subprocess.run([options.plateau, "run", "-q", "--no-report", "-o", recording, *options.run_options, "--", options.python, script, *arguments],
                             cwd=script.parent, env=environment, capture_output=True, text=True)
        note = f"{time.monotonic() - began:.0f} s"
        if run.returncode:
            return None, f"the program ended with {run.returncode}: {(run.stderr or run.stdout)[-300:]}"
    elif not pathlib.Path(recording).is_dir():
        return None, "it was not recorded"
    report = subprocess.run([options.plateau, "report", recording, "--json", recording + ".json"], capture_output=True, text=True)
    if report.returncode:
        return None, f"plateau report ended with {report.returncode}: {report.stderr[-300:]}"
    answer = json.loads(pathlib.Path(recording + ".json").read_text())
    # A row, and behind it the line that stores what it makes, where the card names one.
    rows = re.findall(r"^ {1,2}\d (.*(?:\n {4}.*)*)$", report.stdout.split("\n\n")[0], re.MULTILINE)[:FIRST_SITES]
    answer["card_rows"] = [" | ".join([row.split("\n")[0], *re.findall(r"^ {4}(stored at .*)$", row, re.MULTILINE)]) for row in rows]
    return answer, note


def judge(report, script, verdicts, mark, never):
    """What is wrong with a report: a list of sentences."""
    wrong = []
    kind = report["verdict"]
    if kind not in verdicts:
        wrong.append(f"{kind} instead of {' or '.join(verdicts)}")
    if never and never in kind and kind not in verdicts:
        wrong.append(f"'{never}' is false here")
    if mark:
        lines = marked_lines(script, mark)
        tail = script.name[-8:]  # a long name is shown without its middle
        if not any(f"{tail}:{line} " in row or f"{tail}:{line}: " in row for row in report["card_rows"] for line in lines):
            wrong.append(f"line {'/'.join(map(str, sorted(lines)))} is not among the first {FIRST_SITES} sites of the card")
    return wrong


def show(report, note):
    print(f"    {report['verdict'].upper()} ({note}): {report['headline']['summary']}. {report['headline']['sentence']}")
    for row in report["card_rows"]:
        print("      " + row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--plateau", default=os.environ.get("PLATEAU_BUILD", "build/dev") + "/bin/plateau")
    parser.add_argument("--truth", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--preload", help="another library in LD_PRELOAD, for example an allocator")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder where the recordings stay")
    parser.add_argument("--again", action="store_true", help="judge the recordings in --keep anew and run nothing")
    own, behind = sys.argv[1:], []
    if "--" in own:
        own, behind = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    options.run_options = behind
    if options.again and not options.keep:
        parser.error("--again needs --keep")
    options.plateau = str(pathlib.Path(options.plateau).absolute())
    folder = options.folder.absolute()
    table = options.truth or next((path for path in (folder / "truth.tsv", HERE / "truth.tsv") if path.exists()))
    rows = [row for row in read_truth(table) if (folder / row[0].split()[0]).exists()]
    known = {row[0].split()[0] for row in rows}
    rows += [(path.name, None, None, "") for path in sorted(folder.glob("*.py")) if path.name not in known and options.words]
    right = total = 0
    for program, verdicts, mark, never in rows:
        if options.words and not any(word in program for word in options.words):
            continue
        script, *arguments = program.split()
        script = folder / script
        print(f"{program}   truth: {', '.join(verdicts) if verdicts else 'unknown'}{', line ' + mark if mark else ''}", flush=True)
        for number in range(options.repeat):
            with tempfile.TemporaryDirectory(prefix="field-") as scratch:
                recording = str(options.keep.absolute() / f"{program.replace(' ', '_')}.{number}") if options.keep else scratch + "/recording"
                report, note = analyse(options, script, arguments, recording)
            wrong = [note] if report is None else judge(report, script, verdicts, mark, never) if verdicts else []
            if report is not None:
                show(report, note)
            if verdicts:
                total += 1
                right += not wrong
                print("    " + ("right" if not wrong else "WRONG: " + "; ".join(wrong)), flush=True)
    print(f"{right} of {total} runs right")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
