"""libplateau.so on every interpreter, read back from its recordings: shim_test.py NAME"""
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import construct_test
import dump_trace
import interpreters

HERE = construct_test.HERE
BUILD = os.environ["PLATEAU_BUILD"]


def run(command, folder, **extra):
    env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "lib", "libplateau.so"), PYTHONPATH=HERE,
               PLATEAU_OUT=os.path.join(folder, "recording"), PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore",
               HELPER=os.path.join(BUILD, "tests", "libpython_test_helper.so"), **extra)
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)


def record(command, folder, **extra):
    done = run(command, folder, **extra)
    if done.returncode != 0:
        sys.exit("%s: exit code %d\n%s" % (command, done.returncode, done.stderr.decode(errors="replace")))
    return done, dump_trace.read(os.path.join(folder, "recording"))


def demand(condition, *message):
    if not condition:
        print("FAILED:", *message)
        sys.exit(1)


def constructs(python, folder):
    """What the recorder writes is what sys._getframe() says, through encoder, file, decoder and line tables."""
    expected = os.path.join(folder, "expected")
    _, traces = record([python, os.path.join(HERE, "constructs.py")], folder, TRUTH_OUT=expected, ROUNDS="2")
    trace, = traces.values()
    with open(expected) as stream:
        right, wrong, missing = construct_test.compare(json.load(stream), trace.stacks_by_size())
    print("  %d right, %d wrong, %d missing; %s" % (right, wrong, missing, trace.infos["python"]))
    demand(wrong == missing == 0 and right > 100, "stacks")


def small_objects(python, folder):
    """Each leaking line gets its bytes, within what sampling every 16 KiB allows; arenas are marked as such."""
    for mode in ("default", "exact"):
        with tempfile.TemporaryDirectory() as own:
            check_small_objects(python, own, mode)


def check_small_objects(python, folder, mode):
    done, traces = record([python, os.path.join(HERE, "traps", "small_objects.py")], folder,
                          PLATEAU_SAMPLE_BYTES="16K", PLATEAU_MODE=mode)
    trace, = traces.values()
    demand("small objects sampled" in trace.infos["python"], trace.infos["python"])
    trace.sample_bytes = 16384
    live = trace.live_small_objects("small_objects.py")
    total = 0
    for line, truth in (map(int, row.split()) for row in done.stdout.decode().splitlines()):
        estimate = live.get(line, 0)
        total += estimate
        # Poisson: the standard deviation of a sum of n samples of about 16 KiB is sqrt(n) * 16 KiB.
        allowed = 5 * 16384 * max(1, truth / 16384) ** 0.5 + 0.15 * truth
        print("  line %d: %.2f MiB, true %.2f MiB" % (line, estimate / 2**20, truth / 2**20))
        if truth > 0:
            demand(abs(estimate - truth) < allowed, "line", line, estimate, truth)
        else:  # freelists: blocks that the churn took from pymalloc are used again by other lines
            demand(estimate < 2 * 2**20, "churn holds", estimate)
    arenas = [f for kind, f in trace.events if kind == "map" and f["kind"] == b"arena" and f["bytes"] >= 256 * 1024]
    demand(sum(f["bytes"] for f in arenas) > 0.8 * total, "arenas", len(arenas), total)


def allocator_environments(python, folder):
    """PYTHONMALLOC and the development mode replace the wrappers while Python starts."""
    # As many rounds as an idle machine makes in that time: on a busy one the recorder's tick comes late, too.
    program = "import time\nkeep = []\nend = time.time() + 2.6\nwhile time.time() < end or len(keep) < 200:\n" \
              "    keep.append([str(i) for i in range(2000)]); bytearray(100000); time.sleep(0.01)\n"
    for variables, expected in (({}, "small objects sampled"), ({"PYTHONMALLOC": "malloc"}, "come from malloc"),
                                ({"PYTHONMALLOC": "pymalloc_debug"}, "small objects sampled"),
                                ({"PYTHONDEVMODE": "1"}, "small objects sampled"),
                                ({"PYTHONTRACEMALLOC": "1"}, "small objects sampled"),
                                ({"PLATEAU_PYTHON_ALLOC": "off"}, "small objects not recorded")):
        with tempfile.TemporaryDirectory() as own:
            _, traces = record([python, "-c", program], own, PLATEAU_SAMPLE_BYTES="32K", **variables)
        trace, = traces.values()
        sampled = sum(kind == "alloc_in" for kind, _ in trace.events)
        print("  %s: %s; %d samples" % (variables or "plain", trace.infos["python"], sampled))
        demand(expected in trace.infos["python"], variables, trace.infos["python"])
        demand((sampled > 20) == ("sampled" in expected), variables, sampled)


def nothing_twice(python, folder):
    """bytes(400) is seen by the small-object hooks alone, bytes(600) by malloc alone."""
    program = "keep = [bytes(400) for _ in range(200)], [bytes(600) for _ in range(200)]"
    for variables in ({}, {"PYTHONMALLOC": "malloc"}):
        with tempfile.TemporaryDirectory() as own:
            _, traces = record([python, "-c", program], own, PLATEAU_MODE="exact", PLATEAU_PYTHON_ALLOC="exact", **variables)
        trace, = traces.values()
        seen = {"alloc": [0, 0], "alloc_in": [0, 0]}
        for kind, f in trace.events:
            small, large = 430 < f.get("bytes", 0) <= 433, 630 < f.get("bytes", 0) <= 633
            if kind in seen and (small or large) and ("<string>", "<module>", 1) in trace.python_frames(f["stack"])[-1:]:
                seen[kind][0] += small
                seen[kind][1] += large
        print("  %s: %s" % (variables or "plain", seen))
        small = "alloc" if variables else "alloc_in"
        other = "alloc_in" if variables else "alloc"
        demand(seen[small][0] >= 190 and seen[other][0] < 10, "400", seen)
        demand(seen["alloc"][1] >= 190 and seen["alloc_in"][1] < 10, "600", seen)


def size_limit(python, folder):
    """When the limit ends exact mode, small objects that were recorded each are sampled, and their weights are right."""
    program = "for i in range(300000): bytes(i % 100 + 300)"
    _, traces = record([python, "-c", program], folder, PLATEAU_MODE="exact", PLATEAU_PYTHON_ALLOC="exact",
                       PLATEAU_MAX_TRACE="4M", PLATEAU_SAMPLE_BYTES="32K")
    trace, = traces.values()
    seen = [f for kind, f in trace.events if kind == "alloc_in" and 333 <= f["bytes"] <= 432]
    estimate = sum(f["bytes"] / (1 if f["period"] is None else -math.expm1(-f["bytes"] / f["period"])) for f in seen)
    truth = 3000 * sum(range(333, 433))
    print("  %d of 300000 recorded, %.1f MB, true %.1f MB" % (len(seen), estimate / 1e6, truth / 1e6))
    demand(len(seen) < 250000, "not sampled")
    demand(abs(estimate - truth) < 0.12 * truth, estimate, truth)


def exits(python, folder):
    """Daemon threads at exit, forks under 8 threads, every event recorded: the program's own end."""
    for name in ("daemon_threads", "stress"):
        with tempfile.TemporaryDirectory() as own:
            done = run([python, os.path.join(HERE, "traps", name + ".py")], own, PLATEAU_MODE="exact",
                       PLATEAU_PYTHON_ALLOC="exact", PLATEAU_MAX_TRACE="64M", SECONDS="0.5")
        demand(done.returncode == 0, name, done.returncode, done.stderr.decode()[-500:])


def creators(python, folder):
    """A native thread shows the Python stack that started it."""
    _, traces = record([python, os.path.join(HERE, "traps", "native_threads.py")], folder, PLATEAU_MODE="exact")
    trace, = traces.values()
    names = [[name for _, name, _ in trace.python_frames(f["stack"])] for kind, f in trace.events
             if kind == "thread_start" and f["stack"]]
    demand(["start_them", "<module>"] in names, names)


def torch_training(python, folder):
    """Torch's allocations, in backward and in DataLoader workers too."""
    expected = os.path.join(folder, "expected")
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        print("  no torch here")
        return
    _, traces = record([python, os.path.join(HERE, "torch_constructs.py")], folder, TRUTH_OUT=expected)
    with open(expected) as stream:
        truth = json.load(stream)
    main = max(traces.values(), key=lambda trace: len(trace.events))
    right, wrong, missing = construct_test.compare(truth, main.stacks_by_size())
    in_workers = sum(("Data.__getitem__" in [name for _, name, _ in stack]) for trace in traces.values()
                     if trace is not main for stacks in trace.stacks_by_size().values() for stack in stacks)
    print("  %d right, %d wrong, %d missing; %d traces, %d stacks of workers" %
          (right, wrong, missing, len(traces), in_workers))
    demand(wrong == missing == 0 and right > 50 and in_workers >= 8, "torch")


def asleep_in_walk(python, folder):
    """A thread that sleeps inside a walk holds up the end of Python for five seconds, and the recording says so."""
    for attempt in range(20):  # where it falls asleep is up to chance
        with tempfile.TemporaryDirectory() as own:
            start = time.monotonic()
            _, traces = record([python, os.path.join(HERE, "traps", "asleep.py")], own, PLATEAU_MODE="exact")
            took = time.monotonic() - start
            status = next(iter(traces.values())).infos["python"]
        demand(took < 15, "it took", took)
        if took > 5:
            print("  attempt %d: %.1f s, %s" % (attempt + 1, took, status))
            demand("frames off since a thread stayed inside a walk while Python ended" in status, status)
            return
        demand("frames on" in status, status)
    demand(False, "never inside a walk")


def numbers(data):
    """LEB128"""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def loops(python, folder):
    """The loops written with a code object are those that dis finds, whatever the interpreter has made of the instructions."""
    for mode in ("exact", "default"):  # in the default mode the code is looked at when it has run for a while
        with tempfile.TemporaryDirectory() as own:
            done, traces = record([python, os.path.join(HERE, "traps", "loops.py")], own, PLATEAU_MODE=mode)
        trace, = traces.values()
        truth, seen = json.loads(done.stdout), {}
        for file, name, packed in trace.loops:
            if not file.endswith("traps/loops.py") or name not in truth:
                continue
            parts = list(numbers(packed))
            demand(interpreters.version(python) >= (3, 14) or parts, name, "is not known")
            pairs, head = [], 0
            for step, length in zip(parts[1::2], parts[2::2]):
                head += step
                pairs.append([head, head + length])
            demand(parts == [] or parts[0] == len(pairs), name, parts)
            seen[name] = pairs
        print("  %s: %s" % (mode, seen))
        demand(set(seen) == set(truth), "codes", sorted(seen))
        demand(seen == truth or interpreters.version(python) >= (3, 14), truth)


def main():
    test = globals()[sys.argv[1]]
    pythons = interpreters.find()
    if test is allocator_environments and os.environ.get("PLATEAU_TEST_LONG") != "1":
        pythons = pythons[:1] + pythons[-1:]  # it waits for the recorder's tick again and again
    if test is asleep_in_walk:
        pythons = pythons[:1]
    for python in pythons:
        print(interpreters.label(python), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            test(python, folder)


if __name__ == "__main__":
    main()
