#!/usr/bin/env python3
"""Compares the device events of one run with what torch and the null device say about it.

usage: check_cuda.py MODE EVENT_LOG PROGRAM_OUTPUT NULL_DEVICE_LOG

MODE is native, expandable, async, uncached, pinned, graph or oom. Prints one line; exits 1 on any difference.
"""
import collections
import json
import re
import sys


def read_events(path):
    events = []
    for line in open(path):
        if line.startswith("handed "):
            continue
        op, level, memory = line.split(" ", 3)[:3]
        fields = dict(field.split("=", 1) for field in line.split()[3:])
        events.append({"op": op, "level": level, "memory": memory, "address": fields["addr"],
                       "bytes": int(fields["bytes"]), "handle": fields["handle"], "graph": fields["graph"],
                       "total": int(fields["total"]), "reserved": int(fields["reserved"]), "api": fields["api"],
                       "device": int(fields["gpu"])})
    return events


class Replay:
    """Live objects by address, and VMM memory by reference and mapping."""

    def __init__(self, events):
        self.count = collections.Counter()
        self.bytes = collections.Counter()
        self.live = collections.defaultdict(dict)
        self.unknown_frees = self.lost_frees = self.torch_mismatches = 0
        handles, mappings, self.captured = {}, {}, 0
        for event in events:
            op, view = event["op"], "tensor" if event["level"] == "tensor" else "memory"
            if event["memory"] == "pinned":
                view = "pinned"
            self.count[view, op] += 1
            self.bytes[view, op] += event["bytes"]
            if op == "alloc":
                self.lost_frees += event["address"] in self.live[view]
                self.live[view][event["address"]] = event["bytes"]
                self.captured += view == "memory" and event["graph"] == "1"
            elif op == "free":
                self.unknown_frees += self.live[view].pop(event["address"], None) is None
            elif op == "create":
                handles[event["handle"]] = [event["bytes"], 1, 0]
            elif op == "release":
                handles[event["handle"]][1] -= 1
            elif op == "map":
                mappings[int(event["address"], 16)] = event["handle"]
                handles[event["handle"]][2] += 1
            elif op == "unmap":
                start = int(event["address"], 16)
                for address in [a for a in mappings if start <= a < start + event["bytes"]]:
                    handles[mappings.pop(address)][2] -= 1
            if view == "tensor" and op in ("alloc", "free"):
                self.torch_mismatches += event["total"] != sum(self.live["tensor"].values())
        self.physical = sum(size for size, references, maps in handles.values() if references or maps)


def main():
    mode, event_log, output, null_log = sys.argv[1:]
    events = read_events(event_log)
    replay = Replay(events)
    stats = json.loads(next(line for line in open(output) if line.startswith("STATS "))[6:])
    null = collections.Counter(re.match(r"\w+", line).group() for line in open(null_log) if "result 0" in line)

    checks = []

    def expect(what, ours, theirs):
        checks.append((what, ours, theirs))

    tensors = mode not in ("async", "uncached")
    expect("frees of unknown memory", replay.unknown_frees, 0)
    expect("lost frees", replay.lost_frees, 0)
    if tensors:
        expect("tensor allocations", replay.count["tensor", "alloc"], stats["allocation.all.allocated"])
        expect("tensor frees", replay.count["tensor", "free"], stats["allocation.all.freed"])
        expect("tensor bytes", replay.bytes["tensor", "alloc"], stats["allocated_bytes.all.allocated"])
        expect("live tensor bytes", sum(replay.live["tensor"].values()), stats["allocated_bytes.all.current"])
        expect("mismatches with torch's totals", replay.torch_mismatches, 0)
        expect("reserved bytes", replay.physical + sum(replay.live["memory"].values()),
               stats["reserved_bytes.all.current"])
    else:
        expect("tensor events", replay.count["tensor", "alloc"], 0)
    if tensors and mode != "expandable":
        expect("segments", replay.count["memory", "alloc"], stats["segment.all.allocated"])
        expect("segments freed", replay.count["memory", "free"], stats["segment.all.freed"])
    if mode == "expandable":
        expect("segments by cudaMalloc", replay.count["memory", "alloc"], 0)
        expect("physical handles", replay.count["memory", "create"], null["cuMemCreate"])
    else:
        expect("driver allocations", replay.count["memory", "alloc"],
               null["cuMemAlloc"] + null["cuMemAllocAsync"])
        expect("driver frees", replay.count["memory", "free"], null["cuMemFree"] + null["cuMemFreeAsync"])
    if mode == "oom":
        refused = [event for event in events if event["op"] == "oom"]
        expect("refusals by torch", sum(e["level"] == "tensor" for e in refused), stats["num_ooms"])
        expect("refusals by the runtime", sum(e["level"] == "runtime" for e in refused), stats["num_ooms"] +
               stats["num_alloc_retries"])
        expect("bytes of each refusal", {e["bytes"] for e in refused}, {1 << 36})
    if mode == "graph":
        expect("captures", replay.count["memory", "capture"], 2)
        expect("segments marked as the graph's", replay.captured > 0, True)
    expect("pinned allocations", replay.count["pinned", "alloc"], null["cuMemHostAlloc"])
    if mode == "pinned":
        expect("pinned memory was used", replay.count["pinned", "alloc"] > 0, True)

    wrong = [check for check in checks if check[1] != check[2]]
    print("%-10s torch %s: %d of %d checks hold; %d tensor allocations, %d bytes, %d segments or handles, %d pinned" % (
        mode, stats["torch"], len(checks) - len(wrong), len(checks), replay.count["tensor", "alloc"],
        replay.bytes["tensor", "alloc"], replay.count["memory", "alloc"] + replay.count["memory", "create"],
        replay.count["pinned", "alloc"]))
    for what, ours, theirs in wrong:
        print("  %s: events say %s, expected %s" % (what, ours, theirs))
    sys.exit(bool(wrong))


main()
