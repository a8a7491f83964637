#!/usr/bin/env python3
"""Checks what the report says about device memory: usage: check_verdicts.py leak|fragment|warm_up REPORT.json TRAIN_SCRIPT."""
import json
import sys

ENDED = {"warmup_complete", "cache_fill", "steady"}
# scenario -> pool, its verdicts, the marked line that must hold most of it and that site's verdicts, calm pools
EXPECTED = {
    "leak": ("device 0 tensors", {"leak"}, "LEAK-LINE", {"leak"}, []),
    "fragment": ("device 0 reserved", {"fragmentation"}, "FRAGMENT-LINE", None, ["device 0 tensors"]),
    "warm_up": ("device 0 tensors", ENDED, "WARM-UP-LINE", ENDED, ["device 0 reserved"]),
}


def main():
    scenario, report, script = sys.argv[1:]
    pool_name, verdicts, mark, site_verdicts, calm = EXPECTED[scenario]
    report = json.load(open(report))
    pools = {pool["name"]: pool for pool in report["pools"]}
    line = next(i for i, text in enumerate(open(script), 1) if "# " + mark in text)
    sites = [site for site in report["sites"] if site["pool"] == pool_name and site["file"].endswith("train_cuda.py")]
    marked = [site for site in sites if site["line"] == line]
    problems = []
    if pools.get(pool_name, {}).get("verdict") not in verdicts:
        problems.append("%s is %s, expected %s" % (pool_name, pools.get(pool_name, {}).get("verdict"), verdicts))
    for name in calm:
        if pools[name]["verdict"] not in ENDED | {"allocator_retention"}:
            problems.append("%s is %s, expected it to have ended" % (name, pools[name]["verdict"]))
    if not marked:
        problems.append("no site of %s at line %d (%s)" % (pool_name, line, mark))
    elif site_verdicts and marked[0]["verdict"] not in site_verdicts:
        problems.append("line %d is %s, expected %s" % (line, marked[0]["verdict"], site_verdicts))
    print("%-10s %s: %s; line %d holds %s bytes, %s" % (
        scenario, pool_name, pools.get(pool_name, {}).get("verdict"), line,
        marked[0]["retained_bytes"] if marked else "no", marked[0]["verdict"] if marked else "-"))
    for problem in problems:
        print("  " + problem)
    return bool(problems)


sys.exit(main())
