#!/usr/bin/env python3
"""Checks that a library was handed our wrappers: usage: check_handed_out.py LABEL EVENT_LOG NULL_DEVICE_LOG.

Every name of cuda_calls.inc that it asked the driver for must have been answered with a wrapper: the null driver logs the
questions, the shim counts the wrappers.
"""
import os
import re
import sys

TABLE = os.path.join(os.path.dirname(__file__), "..", "..", "preload", "cuda", "cuda_calls.inc")


def main():
    label, event_log, null_log = sys.argv[1:]
    table = {}
    for name, lookup, since in re.findall(r'PLATEAU_CUDA_DRIVER\((\w+), "(\w*)", (\d+)', open(TABLE).read()):
        if lookup:
            table[lookup] = (name, int(since))
    handed = {}
    for line in open(event_log):
        if line.startswith("handed "):
            _, name, count, unwrapped = line.split()
            handed[name] = (int(count), int(unwrapped))
    asked = 0
    wanted = set()
    for line in open(null_log):
        if line.startswith("lookup "):
            _, name, version, found = line.split(" ", 3) if line.count(" ") == 3 else line.split()
            asked += 1
            if name in table and int(version) >= table[name][1] and found.strip() == "found":
                wanted.add(table[name][0])
    missing = sorted(name for name in wanted if name not in handed)
    unwrapped = sorted(name for name, (_, lost) in handed.items() if lost)
    twice = sorted(name for name, (count, _) in handed.items() if count > 1)
    print("%-28s asked for %3d names; %2d of %2d wrapped names handed out wrapped; several real functions behind: %s" % (
        label, asked, len(wanted) - len(missing), len(wanted), " ".join(twice) or "none"))
    if missing or unwrapped or not wanted or "cuMemAlloc_v2" not in handed:
        print("  missing: %s; unwrapped: %s" % (missing, unwrapped))
        return 1
    return 0


sys.exit(main())
