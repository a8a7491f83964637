"""Runs the programs with a known holder in one process and walks after each, for asan.sh: checked_programs.py WALK.SO

The walk looks for hundreds of objects that live, of every type, and for some addresses that nothing has, so that it goes
over everything, and names each chain. A walk that is cut early is tried too.
"""
import ctypes
import gc
import random
import sys

import container_cases  # noqa: F401
import function_cases  # noqa: F401
import known
import library_cases  # noqa: F401
import task_cases  # noqa: F401

HEADER = 16
walk = ctypes.PyDLL(sys.argv[1]).checked_walk
random.seed(1)
total = {"walks": 0, "objects": 0, "asked": 0, "found": 0, "named": 0}


def ask():
    living = gc.get_objects()
    chosen = [id(o) - HEADER for o in random.sample(living, min(len(living), 480))]
    del living
    addresses = (ctypes.c_uint64 * 490)(*chosen, *[0x10000 + 16 * i for i in range(8)])
    objects, named = ctypes.c_uint64(), ctypes.c_uint64()
    for limit in (10**7 if total["walks"] % 5 == 0 else 10**11, 10**11):
        found = walk(addresses, ctypes.c_uint64(len(chosen) + 8), ctypes.c_uint64(limit), ctypes.byref(objects),
                     ctypes.byref(named))
        if found < 0:
            sys.exit("this interpreter is refused")
    total["walks"] += 2
    total["objects"] += objects.value
    total["asked"] += len(chosen)
    total["found"] += found
    total["named"] += named.value


def main():
    known.ask = task_cases.ask = library_cases.ask = ask
    # Those that need more than the standard library, or end the process in a way of their own.
    left_out = {"native_block", "ctypes_pointers", "multiprocessing_queue"}
    for name, case in known.CASES.items():
        if name in left_out:
            continue
        collects = gc.isenabled()
        if case() != "asked":
            ask()
        for module in (container_cases, function_cases, library_cases, task_cases):
            for kept in ("keep", "stored", "trainer", "registry", "failures"):
                vars(module).pop(kept, None)
        if collects:
            gc.enable()
        gc.unfreeze()
        gc.collect()
    print(total)
    # Objects that have a managed dict or weak references in front of the header begin elsewhere, and are not found. Of
    # each of sixteen stacks six chains are written.
    return 0 if total["found"] > 0.5 * total["asked"] and total["named"] > 0.1 * total["asked"] else 1


if __name__ == "__main__":
    sys.exit(main())
