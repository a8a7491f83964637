#!/usr/bin/env python3
"""A walk for holders beside gc.collect() in the same process: bench/holder_walk.py --build build/release [--python P]

Each line: how many objects the walk visited, the shortest of seven walks and of seven collections, in CPU time of their
thread, and their ratio. Some of the targets are held by nobody, so no walk ends early. A walk that was cut, because half a
second went by while the thread did not run, does not count.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import ctypes, gc, sys, time
holders = ctypes.PyDLL(None).plateau_mark_holders
ballast = [{"i": i, "t": (i, [i])} for i in range(int(sys.argv[1]))]
kept = [bytearray(200001) for _ in range(50)]
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
lost = [libc.malloc(200001) for _ in range(8)]
gc.collect()
best, walks = [], []
for _ in range(7):
    begin = time.thread_time(); gc.collect(); best.append(time.thread_time() - begin)
    begin = time.thread_time(); holders(); walks.append(time.thread_time() - begin)
print(min(best), *walks)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25_000, 250_000, 1_000_000, 2_500_000])
    options = parser.parse_args()
    print("objects     walk ms   collect ms   ratio   own MB")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, PLATEAU_HOLDERS="0", LD_PRELOAD=os.path.abspath(options.build) + "/lib/libplateau.so", PLATEAU_OUT=folder)
            done = subprocess.run([options.python, "-c", PROGRAM, str(size)], env=env, stdout=subprocess.PIPE, check=True)
            text = subprocess.run([options.build + "/bin/plateau", "dump", folder], stdout=subprocess.PIPE,
                                  universal_newlines=True).stdout
        walks = [dict(pair.split("=") for pair in line.split() if "=" in pair)
                 for line in re.findall(r"^(?:@\d+ )?(holder_walk .*)", text, re.M)]
        collect, *seconds = (float(word) * 1e3 for word in done.stdout.split())
        whole = [(cpu, walk) for cpu, walk in zip(seconds, walks) if walk["result"] == "done"]
        if not whole:
            print(f"{int(walks[-1]['objects']):10,}  every walk was cut: the machine is too busy")
            continue
        cpu, walk = min(whole, key=lambda pair: pair[0])
        print(f"{int(walk['objects']):10,} {cpu:9.1f} {collect:11.1f} {cpu / collect:8.2f} {int(walk['own']) / 1e6:8.1f}  {len(whole)} of {len(walks)} whole")


if __name__ == "__main__":
    main()
