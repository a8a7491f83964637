#!/usr/bin/env python3
"""What the torch marks cost on the smallest operator: torch.add of eight floats, about 1.3 us.

    bench/mark_overhead.py [BUILD]        defaults to build/dev

Runs the loop under libplateau.so with marks off (PLATEAU_STEPS=0), with the default marks, and with operator names, turn by
turn, and prints the minimum over all batches of each. The shim itself records in all three, so the differences are the marks
and the tensor tags. "no shim" is there for scale.
"""
import os
import re
import subprocess
import sys
import tempfile

LOOP = """
import time, torch
torch.set_num_threads(1)
a, b = torch.ones(8), torch.ones(8)
def batch(count=2000, add=torch.add):
    begin = time.perf_counter()
    for _ in range(count):
        add(a, b)
    return (time.perf_counter() - begin) / count * 1e9
batch(20000)
print("ns", min(batch() for _ in range(200)))
"""
ROUNDS = 3


def measure(environment):
    done = subprocess.run(["/usr/bin/python3", "-c", LOOP], env={**os.environ, **environment}, capture_output=True, text=True,
                          check=True)
    return float(re.search(r"ns ([0-9.]+)", done.stdout).group(1))


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build/dev"
    shim = os.path.abspath(os.path.join(build, "lib", "libplateau.so"))
    with tempfile.TemporaryDirectory() as folder:
        def under(**more):
            return {"LD_PRELOAD": shim, "PLATEAU_OUT": folder, "PLATEAU_QUIET": "1", **more}

        variants = {
            "no shim": {},
            "marks off": under(PLATEAU_STEPS="0"),
            "default marks": under(),
            "operator names": under(PLATEAU_OPS="1"),
        }
        times = {name: [] for name in variants}
        for _ in range(ROUNDS):
            for name, environment in variants.items():
                times[name].append(measure(environment))
    for name, values in times.items():
        values.sort()
        print(f"{name:16} min {values[0]:7.0f} ns   median of rounds {values[len(values) // 2]:7.0f} ns")


if __name__ == "__main__":
    main()
