"""One named test per trap of the frame walk, on every interpreter: trap_test.py NAME

PLATEAU_TEST_LONG=1 runs the long variants.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import construct_test
import interpreters
import probe_trace

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(os.environ["PLATEAU_BUILD"], "tests")
LONG = os.environ.get("PLATEAU_TEST_LONG") == "1"


def environment(**extra):
    return dict(os.environ, LD_PRELOAD=construct_test.PROBE, HELPER=os.path.join(TESTS, "libpython_test_helper.so"),
                PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore", **extra)


def run(command, env, timeout=120):
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)


def script(name):
    return os.path.join(HERE, "traps", name + ".py")


def demand(condition, *message):
    if not condition:
        print("FAILED:", *message)
        sys.exit(1)


def numbers(done):
    words = done.stdout.split()
    return {words[i].decode(): int(words[i + 1]) for i in range(0, len(words) - 1, 2)}


def daemon_threads(python, _):
    """68 exits in all with the long variant: none crashes."""
    rounds = 10 if LONG else 1
    for _ in range(rounds):
        done = run([python, script("daemon_threads")],
                   environment(PROBE_ALL="1", PROBE_POISON="1", PROBE_LINGER_MS="200"))
        demand(done.returncode == 0, python, "exit code", done.returncode, done.stderr.decode()[-500:])
    print("  %d exits, 0 crashes" % rounds)


def two_threads(python, folder):
    trace = os.path.join(folder, "trace")
    done = run([python, script("two_threads")],
               environment(PROBE_MIN="5000000", PROBE_OUT=trace, TRUTH_OUT=os.path.join(folder, "truth")))
    demand(done.returncode == 0, python, done.stderr.decode()[-500:])
    released = busy = 0
    for size, stacks in probe_trace.read(trace).items():
        for stack in stacks:
            names = [name for _, name, _ in stack]
            if size < 6000000:
                released += 1
                demand(names[0] == "released" and "busy" not in names, size, names)
            else:
                busy += 1
                demand(names[0] == "busy" and "released" not in names, size, names)
    demand(released > 100 and busy > 0, "too few stacks", released, busy)
    print("  %d stacks without the GIL, %d with it" % (released, busy))


def code_churn(python, _):
    done = run([python, script("code_churn")], environment(PROBE_ALL="1", PROBE_VERIFY="1"))
    demand(done.returncode == 0, python, done.returncode, done.stderr.decode()[-500:])
    seen = numbers(done)
    demand(seen["address_reuses"] > 100 and seen["wrong"] == 0 and seen["bad"] == 0 and seen["no_id"] == 0, seen)
    print(" ", seen)


def stress(python, _, **extra):
    done = run([python, script("stress")],
               environment(PROBE_ALL="1", PROBE_POISON="1", SECONDS="10" if LONG else "1", **extra))
    demand(done.returncode == 0, python, done.returncode, done.stdout.decode(), done.stderr.decode()[-500:])
    seen = numbers(done)
    demand(seen["forks"] > 0 and seen["bad"] == 0 and seen["no_id"] == 0, seen)
    print(" ", seen)


def stress_merged(python, _):
    stress(python, _, PROBE_MERGE="leaf")
    if LONG:
        stress(python, _, PROBE_MERGE="full")


def subinterpreter(python, folder):
    version = interpreters.version(python)
    trace, expected = os.path.join(folder, "trace"), os.path.join(folder, "truth")
    done = run([python, script("subinterpreter")], environment(PROBE_MIN="1000000", PROBE_OUT=trace, TRUTH_OUT=expected))
    if b"No module named" in done.stderr:
        print("  no sub-interpreters here")
        return
    demand(done.returncode == 0, python, done.stderr.decode()[-500:])
    captured = probe_trace.read(trace)
    with open(expected) as stream:
        right, wrong, missing = construct_test.compare(json.load(stream), captured)
    demand(wrong == missing == 0 and right == 2, "outer stacks", right, wrong, missing)
    for size in (5000000, 5000200):
        names = [name for _, name, _ in probe_trace.of_request(captured, size)[0]]
        if version < (3, 12):
            demand("inside" not in names and len(names) > 0, "expected the outer frames alone", names)
        else:
            demand(names == ["inside", "<module>"], "expected the inner frames alone", names)


def libpython(python):
    found = glob.glob(os.path.join(os.path.dirname(os.path.dirname(python)), "lib", "libpython3.*.so.1.0"))
    return found[0] if found else None


def host(python, folder, scope, cycles, program, **extra):
    library = libpython(python)
    if library is None:
        print("  static interpreter: not embedded")
        return None
    trace = os.path.join(folder, "trace")
    env = environment(PROBE_OUT=trace, PROBE_MIN="1000000", PYTHONHOME=os.path.dirname(os.path.dirname(python)),
                      PROBE_ALL="1", **extra)
    command = [os.path.join(TESTS, "python_host"), library, scope, str(cycles), script(program)]
    alone = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
    if run(command, alone).returncode != 0:
        print("  without threads and ctypes: this version does not survive them on its own")
        command[-1] = script("embedded")
    done = run(command, env)
    demand(done.returncode == 0, python, done.returncode, done.stderr.decode()[-500:])
    return probe_trace.read(trace)


def rtld_local(python, folder):
    for scope in ("local", "global"):
        captured = host(python, folder, scope, 1, "embedded")
        if captured is None:
            return
        names = [name for _, name, _ in captured[3000000][0]]
        demand(names == ["inside", "<module>"], scope, names)


def initialise_again(python, folder):
    captured = host(python, folder, "global", 4, "cycle", PROBE_POISON="1", PROBE_LINGER_MS="100")
    if captured is None:
        return
    stacks = captured[3000000]
    demand(len(stacks) == 4, "cycles seen", len(stacks))
    for stack in stacks:
        demand([name for _, name, _ in stack] == ["inside", "<module>"], stack)


def deep(python, folder):
    trace, expected = os.path.join(folder, "trace"), os.path.join(folder, "truth")
    done = run([python, script("deep")], environment(PROBE_MIN="1000000", PROBE_OUT=trace, TRUTH_OUT=expected))
    demand(done.returncode == 0, python, done.stderr.decode()[-500:])
    with open(expected) as stream:
        (size, stack), = json.load(stream).items()
    demand(probe_trace.of_request(probe_trace.read(trace), int(size)) == [[tuple(frame) for frame in stack[:128]]], "another stack")
    with open(trace) as lines:
        sizes = (int(size), int(size) + probe_trace.BYTES_HEADER)
        demand(any(re.match(r"S (%d|%d) 128 1 " % sizes, line) for line in lines), "not marked as cut")


def python_malloc(python, folder):
    """The walk does not depend on the interpreter's allocator."""
    for value in ("malloc", "malloc_debug", "pymalloc", "pymalloc_debug", "debug") if LONG else ("malloc", "debug"):
        os.environ["PYTHONMALLOC"] = value
        expected, captured = construct_test.run(python, "constructs.py", 1, folder)
        if "debug" in value:  # the debug hooks add 24 or 32 bytes, once or twice
            captured = {size - extra: stacks for size, stacks in captured.items() for extra in (24, 32, 48, 64)} | captured
        right, wrong, missing = construct_test.compare(expected, captured)
        demand(wrong == missing == 0 and right > 0, value, right, wrong, missing)
        print("  PYTHONMALLOC=%s: %d right" % (value, right))


def main():
    test = globals()[sys.argv[1]]
    for python in interpreters.find():
        print(interpreters.label(python), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            test(python, folder)


if __name__ == "__main__":
    main()
