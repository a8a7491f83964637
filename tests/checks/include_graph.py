#!/usr/bin/env python3
"""Who may include whom: a row for every folder of preload/ and analyzer/, compared with the includes that exist.

    tests/checks/include_graph.py            fails on a folder without a row, an include that its row does not
                                             allow, a cycle, an overfull folder, and a heavy library inside the
                                             shim
    tests/checks/include_graph.py --print    prints the graph as it is, folders before those that build on them,
                                             with the number of files and of lines

Run it from the top of the tree, or set PLATEAU_SOURCE.
"""

import os
import re
import sys

SOURCE = os.environ.get("PLATEAU_SOURCE", ".")

# Folder -> folders that its files may include. A folder below one of these needs a row of its own.
BUILDS_ON = {
    # Inside the traced process. The recorder knows the parts (python, torch, cuda) only by the table that they
    # are listed in, which is hooks/parts.cc.
    "preload/trace": [],
    "preload/base": ["preload/trace"],
    "preload/sampler": ["preload/base"],
    "preload/unwind": ["preload/base", "preload/trace"],
    "preload/ledger": ["preload/base", "preload/trace"],
    "preload/recorder/file": ["preload/base", "preload/ledger", "preload/trace"],
    "preload/recorder": ["preload/base", "preload/ledger", "preload/recorder/file", "preload/sampler", "preload/trace", "preload/unwind"],
    "preload/python": ["preload/base", "preload/recorder", "preload/sampler", "preload/trace", "preload/unwind"],
    "preload/python/holders/tables": ["preload/base", "preload/python", "preload/trace"],
    "preload/python/holders/native": ["preload/base", "preload/python", "preload/python/holders/tables", "preload/sampler", "preload/trace"],
    "preload/python/holders": ["preload/base", "preload/ledger", "preload/python", "preload/python/holders/native", "preload/python/holders/tables", "preload/recorder",
                               "preload/recorder/file", "preload/sampler", "preload/trace"],
    "preload/torch": ["preload/base", "preload/recorder", "preload/sampler", "preload/trace"],
    "preload/cuda": ["preload/base", "preload/recorder"],
    "preload/hooks": ["preload/base", "preload/ledger", "preload/python", "preload/python/holders", "preload/recorder", "preload/recorder/file", "preload/sampler", "preload/torch",
                      "preload/trace"],
    "preload/attach": ["preload/base", "preload/hooks", "preload/ledger", "preload/python", "preload/python/holders", "preload/recorder", "preload/recorder/file", "preload/torch",
                       "preload/trace"],
    "preload/include/plateau": [],
    # After the run: process -> shim -> trace -> reader -> replay -> series -> verdict -> report.
    "analyzer/base": [],
    "analyzer/pack": ["analyzer/base", "preload/trace"],
    "analyzer/reader": ["analyzer/base", "analyzer/pack", "preload/trace"],
    "analyzer/replay/definitions": ["analyzer/base", "analyzer/reader", "preload/trace"],
    "analyzer/replay": ["analyzer/base", "analyzer/reader", "analyzer/replay/definitions", "preload/trace"],
    "analyzer/device": ["preload/trace"],
    "analyzer/symbols": ["analyzer/base"],
    "analyzer/series/clock/loops": ["analyzer/base", "analyzer/replay/definitions", "preload/trace"],
    "analyzer/series/clock": ["analyzer/base", "analyzer/reader", "analyzer/replay", "analyzer/replay/definitions",
                              "analyzer/series/clock/loops", "preload/trace"],
    "analyzer/series": ["analyzer/base", "analyzer/reader", "analyzer/replay", "analyzer/replay/definitions",
                        "analyzer/series/clock", "preload/trace"],
    "analyzer/verdict/vocabulary": ["analyzer/base"],
    "analyzer/verdict/method": ["analyzer/base", "analyzer/series", "analyzer/verdict/vocabulary"],
    "analyzer/verdict/method/curves": ["analyzer/base", "analyzer/series", "analyzer/verdict/method", "analyzer/verdict/vocabulary"],
    "analyzer/verdict/words": ["analyzer/base", "analyzer/series", "analyzer/verdict/method", "analyzer/verdict/vocabulary"],
    "analyzer/verdict": ["analyzer/base", "analyzer/series", "analyzer/verdict/method", "analyzer/verdict/method/curves",
                         "analyzer/verdict/vocabulary", "analyzer/verdict/words"],
    "analyzer/verdict/cases": ["analyzer/base", "analyzer/series", "analyzer/verdict", "analyzer/verdict/method", "analyzer/verdict/method/curves",
                               "analyzer/verdict/vocabulary", "analyzer/verdict/words"],
    "analyzer/process/names": ["analyzer/base", "analyzer/replay/definitions", "analyzer/symbols"],
    "analyzer/process/holders": ["analyzer/replay/definitions", "analyzer/series", "preload/trace"],
    "analyzer/process": ["analyzer/base", "analyzer/device", "analyzer/process/holders", "analyzer/process/names", "analyzer/reader", "analyzer/replay",
                         "analyzer/replay/definitions", "analyzer/series", "analyzer/series/clock", "analyzer/symbols",
                         "analyzer/verdict", "analyzer/verdict/vocabulary", "analyzer/verdict/words"],
    "analyzer/process/queue": ["analyzer/process", "analyzer/reader", "analyzer/symbols"],
    # Of the verdicts, report/ and its rooms take the table of names and words alone.
    "analyzer/report": ["analyzer/base", "analyzer/symbols", "analyzer/verdict/vocabulary"],
    "analyzer/report/ranks": ["analyzer/report", "analyzer/verdict/vocabulary"],
    "analyzer/report/builder": ["analyzer/base", "analyzer/process", "analyzer/process/names", "analyzer/process/queue", "analyzer/reader", "analyzer/report", "analyzer/report/builder/words", "analyzer/report/ranks",
                                "analyzer/replay/definitions", "analyzer/series", "analyzer/series/clock", "analyzer/symbols",
                                "analyzer/verdict", "analyzer/verdict/vocabulary", "analyzer/verdict/words", "preload/trace"],
    "analyzer/report/builder/words": ["analyzer/base", "analyzer/report", "analyzer/series", "analyzer/verdict/method", "analyzer/verdict/vocabulary",
                                      "analyzer/verdict/words"],
    "analyzer/report/text": ["analyzer/base", "analyzer/report", "analyzer/verdict/vocabulary"],
    "analyzer/report/json": ["analyzer/base", "analyzer/report"],
    "analyzer/report/page": ["analyzer/report", "analyzer/verdict/vocabulary"],
    "analyzer/report/page/web/src": [],
    "analyzer/report/columns": ["analyzer/base", "analyzer/report"],
    "analyzer/report/metrics": ["analyzer/base", "analyzer/report", "analyzer/verdict/vocabulary"],
    "analyzer/report/export": ["analyzer/base", "analyzer/report"],
    "analyzer/report/bundle": ["analyzer/base", "analyzer/report", "analyzer/verdict/vocabulary"],
    "analyzer/cli/metrics": ["analyzer/base", "analyzer/report", "analyzer/report/metrics"],
    "analyzer/cli/launch": ["analyzer/base", "analyzer/reader"],
    "analyzer/cli/live": ["analyzer/base", "analyzer/report", "analyzer/verdict/vocabulary"],
    "analyzer/cli/attach": ["analyzer/base", "preload/attach", "preload/base", "preload/trace"],
    "analyzer/cli": ["analyzer/base", "analyzer/cli/attach", "analyzer/cli/launch", "analyzer/cli/live", "analyzer/cli/metrics", "analyzer/reader", "analyzer/report", "analyzer/report/builder",
                     "analyzer/report/bundle", "analyzer/report/columns", "analyzer/report/export", "analyzer/report/json", "analyzer/report/page", "analyzer/report/text",
                     "analyzer/verdict/cases", "analyzer/verdict/vocabulary", "preload/trace"],
}

# Includes that close a cycle and are to go; each row says why it is still here.
KNOWN_CYCLES = {}

# More files than this make a folder hard to find one's way in.
MAX_FILES = 35

# Libraries that stay out of the traced process, where the program may bring its own copy.
FORBIDDEN_IN_SHIM = re.compile(r'#include [<"](absl/|nlohmann/|zstd|google/|sqlite3|torch/|Python\.h|cuda)')
INCLUDE = re.compile(r'^\s*#\s*include "((?:preload|analyzer)/[^"]+)"')
SOURCE_ENDS = (".h", ".cc", ".c", ".S", ".inc", ".ts")


class Folder:
    def __init__(self):
        self.files = 0
        self.lines = 0
        self.includes = {}  # folder -> the first place that includes it, "file:line"


def read_tree(problems):
    """Returns folder -> Folder for every folder that holds a source file."""
    folders = {}
    for root in ("preload", "analyzer"):
        for directory, below, names in os.walk(os.path.join(SOURCE, root)):
            below[:] = sorted(name for name in below if name not in ("node_modules", "__pycache__"))
            sources = sorted(name for name in names if name.endswith(SOURCE_ENDS))
            home = os.path.relpath(directory, SOURCE)
            if not sources:
                continue
            folder = folders.setdefault(home, Folder())
            folder.files = len(names)
            for name in sources:
                read_file(os.path.join(home, name), home, folder, problems)
    return folders


def read_file(path, home, folder, problems):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            folder.lines += 1
            if home.startswith("preload") and FORBIDDEN_IN_SHIM.match(line):
                problems.append(f"{path}:{number}: {line.strip()} stays out of the traced process")
            match = INCLUDE.match(line)
            if match and os.path.dirname(match.group(1)) != home:
                folder.includes.setdefault(os.path.dirname(match.group(1)), f"{path}:{number}")


def find_cycle(graph):
    """Returns the folders of one cycle, the first again at the end, or an empty list."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        path.append(node)
        for target in sorted(graph.get(node, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return []

    for start in sorted(graph):
        cycle = visit(start)
        if cycle:
            return cycle
    return []


def without_known_cycles(folders):
    return {home: [target for target in folder.includes if (home, target) not in KNOWN_CYCLES]
            for home, folder in folders.items()}


def check(folders, problems):
    for home, folder in sorted(folders.items()):
        if home not in BUILDS_ON:
            problems.append(f"{home} has no row in tests/checks/include_graph.py: say what it builds on")
            continue
        for target, place in sorted(folder.includes.items()):
            if target not in BUILDS_ON[home]:
                problems.append(f"{place}: {home} does not build on {target}")
        if folder.files > MAX_FILES:
            problems.append(f"{home} has {folder.files} files, more than {MAX_FILES}: look for the second room in it")
    for home in sorted(set(BUILDS_ON) - set(folders)):
        problems.append(f"{home} has a row but no source file")
    for home, target in sorted(KNOWN_CYCLES):
        if home not in folders or target not in folders[home].includes:
            problems.append(f"{home} no longer includes {target}: take it out of KNOWN_CYCLES")
    cycle = find_cycle(without_known_cycles(folders))
    if cycle:
        problems.append("the folders include each other in a cycle: " + " -> ".join(cycle))


def print_graph(folders):
    graph = without_known_cycles(folders)
    printed = []
    while len(printed) < len(folders):
        ready = [home for home in sorted(folders) if home not in printed and
                 all(target in printed for target in graph[home])]
        for home in ready or sorted(set(folders) - set(printed)):
            printed.append(home)
    print(f"{'folder':<30}{'files':>6}{'lines':>8}  builds on")
    for home in printed:
        folder = folders[home]
        print(f"{home:<30}{folder.files:>6}{folder.lines:>8}  {', '.join(sorted(folder.includes))}")
    for (home, target), reason in sorted(KNOWN_CYCLES.items()):
        print(f"cycle still there: {home} -> {target} ({reason})")


def main():
    problems = []
    folders = read_tree(problems)
    if "--print" in sys.argv[1:]:
        print_graph(folders)
        return 0
    check(folders, problems)
    if problems:
        print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
