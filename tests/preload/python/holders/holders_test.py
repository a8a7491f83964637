"""The walk names the holder: a selection of the programs of tests/field/holders, on the system's Python.

Each must be right. All of them, on every interpreter, are run by tests/field/holders/run.py.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["PLATEAU_SOURCE"], "tests", "field", "holders"))
import run  # noqa: E402

SELECTED = """list_of_bytearrays list_of_texts list_of_lists list_of_dicts list_of_sets list_of_arrays dict_of_objects
list_of_batches untracked_tuples deque_with_limit set_of_bytes dict_keys secret_keys callback_of_trainer slots linked_list
class_attribute closure default_argument lru_cache lru_cache_of_method bound_method local_of_main local_of_thread generator
stored_exception context_variable weakref_callback memory_views ctypes_pointers asyncio_task garbage_cycle other_module
frozen_objects native_block""".split()


def main():
    failed = 0
    for name in SELECTED:
        found, reason = run.run(os.environ["PLATEAU_BUILD"], "/usr/bin/python3", name)
        verdict, text = run.judge(name, found) if found is not None else ("did not run", reason)
        print(f"{verdict:8} {name}: {text}")
        failed += verdict != "right"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
