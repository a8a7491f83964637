#!/usr/bin/env python3
"""Workflow commands for the line that a report blames: annotate.py REPORT.json EXIT_CODE

Prints `::error file=...,line=...::...` for a check that failed, `::warning` for growth that the rules allow, nothing for the rest, and `verdict=NAME`
for the outputs of the step. Paths are those of the repository when the file lies in it.
"""
import json
import os
import sys

GROWS = {"leak", "slow_leak", "staircase", "unbounded_growth", "fragmentation", "untraced_growth", "inconclusive"}


def escaped(text, is_property=False):
    for plain, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")) + (((":", "%3A"), (",", "%2C")) if is_property else ()):
        text = text.replace(plain, code)
    return text


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    failed = int(sys.argv[2]) != 0
    headline = report["headline"]
    site = next((s for s in report["sites"] if s["site"] == headline.get("site")), None)
    if failed or report["verdict"] in GROWS:
        place = ""
        if site and site["file"] and site["line"] > 0:
            root = os.environ.get("GITHUB_WORKSPACE", os.getcwd())
            path = os.path.relpath(site["file"], root) if os.path.isabs(site["file"]) and os.path.commonpath([root, site["file"]]) == root else site["file"]
            place = " file=%s,line=%d,title=%s" % (escaped(path, True), site["line"], escaped("Plateau: " + report["verdict"].replace("_", " "), True))
        print("::%s%s::%s" % ("error" if failed else "warning", place, escaped(headline.get("summary") or headline["sentence"])))
    print("verdict=" + report["verdict"])


if __name__ == "__main__":
    main()
