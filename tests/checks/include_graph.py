"""Compares who includes whom with the table of allowed directions."""

import os
import re
import sys

SOURCE = os.environ.get("PLATEAU_SOURCE", ".")

# Folder -> folders of this repository that it may include. The longest matching folder decides.
ALLOWED = {
    "preload/trace": {"preload/trace"},
    "preload/base": {"preload/base", "preload/trace"},
    "preload/sampler": {"preload/sampler", "preload/base"},
    "preload/unwind": {"preload/unwind", "preload/base", "preload/trace"},
    "preload/ledger": {"preload/ledger", "preload/base", "preload/recorder", "preload/trace", "preload/unwind"},
    "preload/recorder": {"preload/recorder", "preload/base", "preload/ledger", "preload/python", "preload/sampler",
                         "preload/torch", "preload/trace", "preload/unwind"},
    "preload/python": {"preload/python", "preload/base", "preload/recorder", "preload/sampler", "preload/trace",
                       "preload/unwind"},
    "preload/torch": {"preload/torch", "preload/base", "preload/recorder", "preload/sampler"},
    "preload/cuda": {"preload/cuda", "preload/base", "preload/recorder"},
    "preload/hooks": {"preload/hooks", "preload/base", "preload/python", "preload/recorder", "preload/sampler",
                      "preload/trace"},
    "analyzer/base": {"analyzer/base"},
    "analyzer/pack": {"analyzer/pack", "analyzer/base", "preload/trace"},
    "analyzer/reader": {"analyzer/reader", "analyzer/base", "analyzer/pack", "preload/trace"},
    "analyzer/replay": {"analyzer/replay", "analyzer/reader", "analyzer/base", "preload/trace"},
    "analyzer/device": {"analyzer/device", "preload/trace"},
    "analyzer/symbols": {"analyzer/symbols", "analyzer/base"},
    "analyzer/series": {"analyzer/series", "analyzer/replay", "analyzer/base", "preload/trace"},
    "analyzer/verdict": {"analyzer/verdict", "analyzer/series", "analyzer/base"},
}
# Libraries that stay out of the traced process.
FORBIDDEN_IN_SHIM = re.compile(r'#include [<"](absl/|nlohmann/|zstd|google/|sqlite3|torch/|Python\.h|cuda)')
INCLUDE = re.compile(r'^#include "([^"]+)"')


def folder_of(path, folders):
    matches = [f for f in folders if path == f or path.startswith(f + "/")]
    return max(matches, key=len, default=None)


def main():
    problems = []
    for root in ("preload", "analyzer"):
        for directory, _, names in os.walk(os.path.join(SOURCE, root)):
            for name in names:
                if not name.endswith((".h", ".cc", ".c", ".inc")):
                    continue
                path = os.path.relpath(os.path.join(directory, name), SOURCE)
                home = folder_of(path, ALLOWED)
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        if root == "preload" and FORBIDDEN_IN_SHIM.match(line):
                            problems.append(f"{path}:{number}: {line.strip()} stays out of the traced process")
                        match = INCLUDE.match(line)
                        if not match or home is None:
                            continue
                        target = match.group(1)
                        if not target.startswith(("preload/", "analyzer/")):
                            continue
                        there = folder_of(target, list(ALLOWED) + ["analyzer/report", "analyzer/process", "analyzer/cli"])
                        if there not in ALLOWED[home]:
                            problems.append(f"{path}:{number}: {home} may not include {target}")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
