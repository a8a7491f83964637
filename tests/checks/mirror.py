#!/usr/bin/env python3
"""Tests mirror preload/: a header preload/ROOM/NAME.h is tested by tests/preload/ROOM/NAME_test.*.

Where that is not so, a row of ELSEWHERE names the test that would notice a mistake and says why it is there. The
check fails on a header with neither, on a row whose test does not exist, and on a row that is no longer needed.
"""

import os
import sys

SOURCE = os.environ.get("PLATEAU_SOURCE", ".")
ROOT = "preload"

RUN = "only means something in a traced process"
INNER = "an inner piece, tested through the class that is made of it"
DATA = "constants, structs or declarations without behaviour of their own"

# Header without its ending -> (test, why there).
ELSEWHERE = {
    "base/arena": ("tests/preload/recorder/trace_sink_test.cc", INNER),
    "base/elf_view": ("tests/preload/base/real_symbol_test.cc", INNER),
    "base/import_slots": ("tests/e2e/heap_hooks_test.cc", RUN),
    "base/old_glibc": ("tests/checks/symbol_versions.sh", "symbol versions of the built library"),
    "base/raw_log": ("tests/e2e/trace_file_test.cc", RUN),
    "base/real_functions": ("tests/e2e/heap_hooks_test.cc", RUN),
    "base/system_call": ("tests/preload/recorder/trace_sink_test.cc", INNER),
    "cuda/call": ("tests/preload/cuda/cuda_calls_test.cc", "one test for the wrappers of all calls"),
    "cuda/cuda_abi": ("tests/preload/cuda/cuda_calls_test.cc", DATA),
    "cuda/dlsym_filter": ("tests/preload/cuda/cuda_process_test.cc", RUN),
    "cuda/driver_queries": ("tests/preload/cuda/cuda_calls_test.cc", "needs a driver: the null device"),
    "cuda/loader_state": ("tests/preload/cuda/cuda_process_test.cc", RUN),
    "cuda/signatures": ("tests/preload/cuda/cuda_calls_test.cc", "one test for the wrappers of all calls"),
    "cuda/wrapper_slots": ("tests/preload/cuda/cuda_process_test.cc", RUN),
    "hooks/heap_calls": ("tests/e2e/heap_hooks_test.cc", RUN),
    "hooks/hooks": ("tests/e2e/heap_hooks_test.cc", RUN),
    "hooks/other_allocators": ("tests/e2e/heap_hooks_test.cc", RUN),
    "hooks/process_hooks": ("tests/e2e/processes_test.cc", RUN),
    "include/plateau/mark": ("tests/preload/torch/site_hook_test.py", RUN),
    "python/code_table": ("tests/preload/python/trap_test.py", "needs an interpreter: code_churn"),
    "python/fingerprint": ("tests/preload/python/trap_test.py", "needs an interpreter: code_churn"),
    "python/frames": ("tests/preload/python/construct_test.py", "needs an interpreter"),
    "python/interpreter": ("tests/preload/python/trap_test.py", "needs an interpreter: rtld_local, initialise_again"),
    "python/merged_stack": ("tests/preload/python/merge_test.py", "needs an interpreter"),
    "python/module_symbols": ("tests/preload/python/trap_test.py", "needs an interpreter: rtld_local"),
    "python/pymalloc": ("tests/preload/python/shim_test.py", "needs an interpreter: small_objects"),
    "python/python_nodes": ("tests/preload/python/merge_test.py", "needs an interpreter"),
    "python/start": ("tests/preload/python/shim_test.py", RUN),
    "python/walk_scope": ("tests/preload/python/trap_test.py", "needs an interpreter: daemon_threads"),
    "recorder/definitions": ("tests/preload/python/probe.cc", DATA),
    "recorder/device_event": ("tests/preload/trace/device_codes_test.cc", DATA),
    "recorder/event": ("tests/e2e/heap_hooks_test.cc", RUN),
    "recorder/fold_table": ("tests/e2e/folding_test.py", RUN),
    "recorder/ledger_events": ("tests/e2e/threads_test.cc", RUN),
    "recorder/recording": ("tests/e2e/processes_test.cc", RUN),
    "recorder/size_limit": ("tests/e2e/trace_file_test.cc", RUN),
    "recorder/stack_capture": ("tests/e2e/heap_hooks_test.cc", RUN),
    "recorder/thread_buffer": ("tests/e2e/threads_test.cc", RUN),
    "recorder/thread_end": ("tests/e2e/threads_test.cc", RUN),
    "recorder/tracer": ("tests/e2e/heap_hooks_test.cc", RUN),
    "sampler/sample_filter": ("tests/preload/sampler/sample_set_test.cc", INNER),
    "torch/method_hooks": ("tests/e2e/steps_test.py", "needs torch"),
    "torch/record_function": ("tests/preload/torch/fake_torch_test.py", "needs a torch, if only a stand-in"),
    "torch/start": ("tests/preload/torch/fake_torch_test.py", "needs a torch, if only a stand-in"),
    "torch/stop_iteration": ("tests/e2e/steps_test.py", "needs torch and an interpreter"),
    "trace/decoder": ("tests/preload/trace/codec_test.cc", "encoder and decoder are tested against each other"),
    "trace/delta_state": ("tests/preload/trace/codec_test.cc", INNER),
    "trace/encoder": ("tests/preload/trace/codec_test.cc", "encoder and decoder are tested against each other"),
    "trace/format": ("tests/preload/trace/block_damage_test.cc", DATA),
    "trace/hot_records": ("tests/preload/trace/codec_test.cc", INNER),
    "trace/mark_groups": ("tests/preload/recorder/mark_thinning_test.cc", DATA),
    "trace/record": ("tests/preload/trace/codec_test.cc", DATA),
    "trace/record_shapes": ("tests/preload/trace/quick_reading_test.cc", INNER),
    "unwind/cfi_machine": ("tests/preload/unwind/cfi_rule_test.cc", INNER),
    "unwind/cfi_row": ("tests/preload/unwind/cfi_rule_test.cc", INNER),
    "unwind/definition_sink": ("tests/preload/unwind/capture_test.cc", DATA),
    "unwind/dwarf_expression": ("tests/preload/unwind/odd_stack_test.cc", INNER),
    "unwind/full_step": ("tests/preload/unwind/odd_stack_test.cc", "needs odd frames on a real stack"),
    "unwind/known_branches": ("tests/preload/unwind/capture_property_test.cc", "a proof, compared with libunwind"),
    "unwind/known_stacks": ("tests/preload/unwind/capture_property_test.cc", "a proof, compared with libunwind"),
    "unwind/loaded_object": ("tests/preload/unwind/capture_test.cc", INNER),
    "unwind/module_table": ("tests/preload/unwind/capture_test.cc", INNER),
    "unwind/registers": ("tests/preload/unwind/capture_test.cc", DATA),
    "unwind/signal_frame": ("tests/preload/unwind/odd_stack_test.cc", "needs a signal on a real stack"),
    "unwind/stack_walker": ("tests/preload/unwind/capture_property_test.cc", "a proof, compared with libunwind"),
    "unwind/stack_words": ("tests/preload/unwind/capture_property_test.cc", INNER),
}


def headers():
    for directory, _, names in os.walk(os.path.join(SOURCE, ROOT)):
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(directory, name), os.path.join(SOURCE, ROOT))[:-2]


def has_mirror(header):
    return any(os.path.exists(os.path.join(SOURCE, "tests", ROOT, header + "_test" + end)) for end in (".cc", ".py"))


def main():
    problems = []
    known = sorted(headers())
    for header in known:
        if has_mirror(header):
            if header in ELSEWHERE:
                problems.append(f"{ROOT}/{header}.h has a test of its own: take its row out of tests/checks/mirror.py")
        elif header not in ELSEWHERE:
            problems.append(f"{ROOT}/{header}.h has no test: write tests/{ROOT}/{header}_test.cc, or say in "
                            "tests/checks/mirror.py which test notices a mistake in it")
        elif not os.path.exists(os.path.join(SOURCE, ELSEWHERE[header][0])):
            problems.append(f"{ROOT}/{header}.h is said to be tested by {ELSEWHERE[header][0]}, which does not exist")
    for header in sorted(set(ELSEWHERE) - set(known)):
        problems.append(f"tests/checks/mirror.py has a row for {ROOT}/{header}.h, which does not exist")
    if problems:
        print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
