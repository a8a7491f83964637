#!/usr/bin/env python3
"""Tests mirror the tree: a header preload/ROOM/NAME.h is tested by tests/preload/ROOM/NAME_test.*, one of analyzer/ likewise.

Where that is not so, a row of ELSEWHERE names the test that would notice a mistake and says why it is there. The
check fails on a header with neither, on a row whose test does not exist, and on a row that is no longer needed.
"""

import os
import sys

SOURCE = os.environ.get("PLATEAU_SOURCE", ".")
# Rooms whose headers are inner pieces of one function: the tests of that function are in tests/<room>.
WHOLE = {"analyzer/verdict": "tests/analyzer/verdict",
         "analyzer/verdict/vocabulary": "tests/analyzer/verdict/vocabulary",
         "analyzer/verdict/method": "tests/analyzer/verdict",
         "analyzer/pack": "tests/analyzer/pack"}

RUN = "only means something in a traced process"
INNER = "an inner piece, tested through the class that is made of it"
DATA = "constants, structs or declarations without behaviour of their own"

REPORT = "tests/analyzer/report/builder/build_report_test.cc"
REPLAY = "tests/analyzer/replay/heap_replay_test.cc"
CLOCK = "tests/analyzer/series/clock/step_clock_test.cc"
EXPORT = "tests/analyzer/report/export/export_test.cc"
GOLDEN = "tests/golden/golden_test.cc"

# Header without its ending -> (test, why there).
PRELOAD = {
    "attach/attach": ("tests/e2e/attach_library_test.py", RUN),
    "attach/attach_request": ("tests/e2e/attach_library_test.py", DATA),
    "attach/hooked_functions": ("tests/e2e/attach_library_test.py", RUN),
    "attach/import_patcher": ("tests/e2e/attach_library_test.py", RUN),
    "base/arena": ("tests/preload/recorder/file/trace_sink_test.cc", INNER),
    "base/elf_view": ("tests/preload/base/real_symbol_test.cc", INNER),
    "base/import_slots": ("tests/e2e/heap_hooks_test.cc", RUN),
    "base/old_glibc": ("tests/checks/symbol_versions.sh", "symbol versions of the built library"),
    "base/raw_log": ("tests/e2e/trace_file_test.cc", RUN),
    "base/real_functions": ("tests/e2e/heap_hooks_test.cc", RUN),
    "base/system_call": ("tests/preload/recorder/file/trace_sink_test.cc", INNER),
    "cuda/call": ("tests/preload/cuda/cuda_calls_test.cc", "one test for the wrappers of all calls"),
    "cuda/cuda_abi": ("tests/preload/cuda/cuda_calls_test.cc", DATA),
    "cuda/dlsym_filter": ("tests/preload/cuda/cuda_process_test.cc", RUN),
    "cuda/driver_queries": ("tests/preload/cuda/cuda_calls_test.cc", "needs a driver: the null device"),
    "cuda/loader_state": ("tests/preload/cuda/cuda_process_test.cc", RUN),
    "cuda/signatures": ("tests/preload/cuda/cuda_calls_test.cc", "one test for the wrappers of all calls"),
    "cuda/wrapper_slots": ("tests/preload/cuda/cuda_process_test.cc", RUN),
    "hooks/exec_hooks": ("tests/e2e/guest_test.cc", RUN),
    "hooks/sandbox_hooks": ("tests/e2e/guest_test.cc", RUN),
    "hooks/signal_hooks": ("tests/e2e/guest_test.cc", RUN),
    "recorder/sandbox": ("tests/e2e/guest_test.cc", RUN),
    "hooks/heap_calls": ("tests/e2e/heap_hooks_test.cc", RUN),
    "hooks/hooks": ("tests/e2e/heap_hooks_test.cc", RUN),
    "hooks/other_allocators": ("tests/e2e/heap_hooks_test.cc", RUN),
    "hooks/process_hooks": ("tests/e2e/processes_test.cc", RUN),
    "include/plateau/mark": ("tests/preload/torch/site_hook_test.py", RUN),
    "python/code_table": ("tests/preload/python/trap_test.py", "needs an interpreter: code_churn"),
    "python/frames": ("tests/preload/python/construct_test.py", "needs an interpreter"),
    "python/holders/garbage_cycle": ("tests/preload/python/holders/holders_test.py", "needs an interpreter: garbage"),
    "python/holders/native/graph_walk": ("tests/preload/python/holders/class_name_test.cc", "the walk itself needs torch: tests/field/holders"),
    "python/holders/native/native_reach": ("tests/preload/python/holders/holders_test.py", "needs an interpreter: vector_of_pointers"),
    "python/holders/native/native_search": ("tests/preload/python/holders/holders_test.py", "needs an interpreter: native_block"),
    "python/holders/native/safe_read": ("tests/preload/python/holders/holders_test.py", INNER),
    "python/holders/tables/heap_layout": ("tests/preload/python/holders/holders_test.py", "needs an interpreter"),
    "python/holders/holder_report": ("tests/preload/python/holders/holders_test.py", "needs an interpreter"),
    "python/holders/tables/node_list": ("tests/preload/python/holders/walk_tables_test.cc", "one test for the tables of a walk"),
    "python/holders/look": ("tests/preload/python/holders/guest_test.py", RUN),
    "python/holders/object_walk": ("tests/preload/python/holders/holders_test.py", "needs an interpreter"),
    "python/holders/path_namer": ("tests/preload/python/holders/holders_test.py", "needs an interpreter"),
    "python/holders/schedule": ("tests/preload/python/holders/guest_test.py", RUN),
    "python/holders/tables/stack_sums": ("tests/preload/python/holders/walk_tables_test.cc", "one test for the tables of a walk"),
    "python/holders/target_choice": ("tests/preload/python/holders/holders_test.py", RUN),
    "python/holders/tables/target_table": ("tests/preload/python/holders/walk_tables_test.cc", "one test for the tables of a walk"),
    "python/holders/tables/type_table": ("tests/preload/python/holders/holders_test.py", "needs an interpreter"),
    "python/holders/tables/visited_set": ("tests/preload/python/holders/walk_tables_test.cc", "one test for the tables of a walk"),
    "python/holders/tables/walk_clock": ("tests/preload/python/holders/walk_tables_test.cc", "one test for the tables of a walk"),
    "python/holders/tables/walk_memory": ("tests/preload/python/holders/walk_tables_test.cc", "one test for the tables of a walk"),
    "python/interpreter": ("tests/preload/python/trap_test.py", "needs an interpreter: rtld_local, initialise_again"),
    "python/merged_stack": ("tests/preload/python/merge_test.py", "needs an interpreter"),
    "python/module_symbols": ("tests/preload/python/trap_test.py", "needs an interpreter: rtld_local"),
    "python/pymalloc": ("tests/preload/python/shim_test.py", "needs an interpreter: small_objects"),
    "python/python_nodes": ("tests/preload/python/merge_test.py", "needs an interpreter"),
    "python/start": ("tests/preload/python/shim_test.py", RUN),
    "python/walk_scope": ("tests/preload/python/trap_test.py", "needs an interpreter: daemon_threads"),
    "recorder/definitions": ("tests/preload/python/probe.cc", DATA),
    "torch/fetch_owner": ("tests/e2e/steps_test.py", "needs torch's DataLoader"),
    "torch/thread_view": ("tests/e2e/steps_test.py", "needs torch's DataLoader"),
    "trace/fetch_mark": ("tests/analyzer/series/clock/passes_by_loader_test.cc", INNER),
    "recorder/device_blocks": ("tests/e2e/device_holders_test.py", RUN),
    "recorder/device_event": ("tests/preload/trace/device_codes_test.cc", DATA),
    "recorder/event": ("tests/e2e/heap_hooks_test.cc", RUN),
    "recorder/fold_table": ("tests/e2e/folding_test.py", RUN),
    "recorder/ledger_events": ("tests/e2e/threads_test.cc", RUN),
    "recorder/recording": ("tests/e2e/processes_test.cc", RUN),
    "recorder/size_limit": ("tests/e2e/trace_file_test.cc", RUN),
    "recorder/step_count": ("tests/preload/python/holders/guest_test.py", RUN),
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
    "unwind/module_table": ("tests/preload/unwind/capture_test.cc", INNER),
    "unwind/registers": ("tests/preload/unwind/capture_test.cc", DATA),
    "unwind/signal_frame": ("tests/preload/unwind/odd_stack_test.cc", "needs a signal on a real stack"),
    "unwind/stack_walker": ("tests/preload/unwind/capture_property_test.cc", "a proof, compared with libunwind"),
    "unwind/stack_words": ("tests/preload/unwind/capture_property_test.cc", INNER),
}


ANALYZER = {
    "base/interval": ("tests/analyzer/base/human_units_test.cc", DATA),
    "base/kept_array": ("tests/analyzer/pack/address_table_test.cc", INNER),
    "base/prefetch": ("tests/analyzer/replay/live_table_test.cc", "changes speed and no result"),
    "base/progress": ("tests/e2e/report_commands_test.py", "prints to a terminal"),
    "base/status_macros": ("tests/analyzer/reader/trace_reader_test.cc", INNER),
    "base/whole_number": ("tests/analyzer/process/row_digest_test.cc", INNER),
    "base/zeroed_array": ("tests/analyzer/replay/definitions/stack_nodes_test.cc", INNER),
    "cli/metrics/metrics_watch": ("tests/e2e/metrics_test.py", "reads recordings of real runs"),
    "cli/columns_export": ("tests/e2e/columns_test.py", "reads recordings of real runs"),
    "report/columns/thrift_writer": ("tests/analyzer/report/columns/parquet_file_test.cc", INNER),
    "report/rank_summary": ("tests/analyzer/report/ranks/rank_words_test.cc", DATA),
    "report/builder/rank_table": ("tests/e2e/fleet_test.py", "needs a recording of several ranks"),
    "report/columns/job_schema": ("tests/analyzer/report/columns/job_tables_test.cc", DATA),
    "report/rank_report": ("tests/analyzer/report/builder/rank_reports_test.cc", DATA),
    "cli/attach/attach_run": ("tests/e2e/attach_test.py", "attaches to a program"),
    "cli/attach/attached_recording": ("tests/e2e/attach_test.py", "needs a program that was attached to"),
    "cli/attach/injector": ("tests/e2e/attach_test.py", "attaches to a program"),
    "cli/attach/suitability": ("tests/e2e/attach_test.py", "looks at programs of many kinds"),
    "cli/attach/target_process": ("tests/analyzer/cli/attach/import_words_test.cc", "read there from a program that runs"),
    "cli/command": ("tests/analyzer/cli/help_test.cc", DATA),
    "cli/exit_code": ("tests/analyzer/cli/help_test.cc", DATA),
    "cli/launch/launch": ("tests/e2e/launcher_test.py", "starts a program"),
    "cli/load_report": ("tests/e2e/report_commands_test.py", "reads recordings of real runs"),
    "cli/launch/recorded_time": ("tests/e2e/launcher_test.py", "starts a program"),
    "process/library_callers": (GOLDEN, "the golden trace library_threads"),
    "process/site_holders": (GOLDEN, "the golden traces held_*"),
    "report/text/holders_text": (GOLDEN, "the golden traces held_*"),
    "report/builder/holder_facts": (GOLDEN, "the golden traces held_*"),
    "process/names/notebook_cells": (REPORT, "read from notes of a trace"),
    "reader/process_tree": (REPORT, "needs several processes"),
    "replay/definitions/generated_code": ("tests/analyzer/replay/definitions/site_table_test.cc", INNER),
    "series/clock/mode_intervals": (CLOCK, INNER),
    "series/clock/passes_by_line": (CLOCK, INNER),
    "cli/table_options": ("tests/e2e/report_commands_test.py", "options of the commands"),
    "cli/live/terminal_view": ("tests/e2e/watch_test.py", "needs a terminal"),
    "device/device_memory_map": ("tests/analyzer/device/device_ledger_test.cc", INNER),
    "process/attached_run": ("tests/e2e/attach_report_test.py", "needs a recording that was attached to"),
    "process/analyze_process": (GOLDEN, "the whole analysis, from a trace in text to a report"),
    "process/device_summary": ("tests/e2e/cuda_report_test.py", "needs a recording with device memory"),
    "process/forked_worker": ("tests/e2e/processes_test.cc", "needs the traces of a parent and of its worker"),
    "process/names/frame_names": (REPORT, "names are read off the report"),
    "process/judge_process": (GOLDEN, "the whole analysis, from a trace in text to a report"),
    "process/ledger_samples": (REPORT, INNER),
    "process/process_clock": (GOLDEN, "the clock itself has step_clock_test"),
    "process/process_memory": (GOLDEN, "the replay itself has heap_replay_test"),
    "process/process_trace": (REPORT, INNER),
    "process/row_growth": (REPORT, INNER),
    "process/started_threads": ("tests/field/kinds/piles.py", "needs a recording with threads that pile up"),
    "process/names/symbols_ahead": ("tests/analyzer/symbols/symbolizer_test.cc", "changes speed and no result"),
    "reader/block_index": ("tests/analyzer/reader/trace_reader_test.cc", INNER),
    "reader/read_summary": ("tests/analyzer/reader/trace_reader_test.cc", INNER),
    "replay/event_source": ("tests/analyzer/replay/heap_replay_order_test.cc", INNER),
    "replay/definitions/harvest": ("tests/analyzer/replay/definitions/definitions_test.cc", INNER),
    "replay/residency_book": (REPLAY, INNER),
    "series/large_regions": ("tests/analyzer/process/large_regions_test.cc", DATA),
    "replay/heap_accounts": (REPLAY, "the two halves of the replay are tested together"),
    "replay/heap_matcher": (REPLAY, "the two halves of the replay are tested together"),
    "replay/look_ahead": ("tests/analyzer/replay/live_table_test.cc", "changes speed and no result"),
    "replay/owed_frees": ("tests/analyzer/replay/heap_replay_order_test.cc", INNER),
    "replay/definitions/pool": (REPLAY, DATA),
    "report/builder/memory_facts": (GOLDEN, "the whole analysis, from a trace in text to a report"),
    "report/text/memory_text": (GOLDEN, "the whole analysis, from a trace in text to a report"),
    "report/builder/device_facts": ("tests/e2e/cuda_report_test.py", "needs a recording with device memory"),
    "report/builder/process_facts": (REPORT, INNER),
    "report/builder/report_rows": (REPORT, INNER),
    "report/builder/row_order": (REPORT, INNER),
    "report/builder/sampling_notes": (REPORT, INNER),
    "report/builder/site_opinions": (REPORT, INNER),
    "report/builder/stack_tree": (REPORT, INNER),
    "report/builder/tensor_curves": ("tests/e2e/tensors_test.py", "needs a recording with tensors"),
    "report/builder/verdict_words": (GOLDEN, "the words of every verdict are in the golden reports"),
    "report/bundle/anonymizer": ("tests/analyzer/report/bundle/bundle_test.cc", "one test for the whole bundle"),
    "report/bundle/tar_archive": ("tests/analyzer/report/bundle/bundle_test.cc", "one test for the whole bundle"),
    "report/export/csv_export": (EXPORT, "one test for the totals of all formats"),
    "report/export/perfetto_export": (EXPORT, "one test for the totals of all formats"),
    "report/export/pprof_export": (EXPORT, "one test for the totals of all formats"),
    "report/export/sqlite_export": (EXPORT, "one test for the totals of all formats"),
    "report/export/stack_text_export": (EXPORT, "one test for the totals of all formats"),
    "report/export/stack_walk": (EXPORT, INNER),
    "report/model_devices": ("tests/analyzer/report/json/json_report_test.cc", DATA),
    "report/model_memory": ("tests/analyzer/report/json/json_report_test.cc", DATA),
    "report/model_sites": ("tests/analyzer/report/report_model_test.cc", DATA),
    "report/model_verdict": ("tests/analyzer/report/json/json_report_test.cc", DATA),
    "report/model_fields": ("tests/analyzer/report/json/json_report_test.cc", "written and read back there"),
    "report/model_json": ("tests/analyzer/report/json/json_report_test.cc", "written and read back there"),
    "report/page/page_data": ("tests/analyzer/report/page/html_report_test.cc", INNER),
    "report/suppressions": ("tests/analyzer/report/check_test.cc", INNER),
    "report/text/device_text": ("tests/analyzer/report/text/text_report_test.cc", INNER),
    "report/text_grid": ("tests/analyzer/report/text/text_report_test.cc", INNER),
    "series/clock/clock_sentence": (CLOCK, INNER),
    "series/copy_on_write": ("tests/analyzer/series/ledger_test.cc", "tested beside the ledger that it explains"),
    "series/clock/data_passes": (CLOCK, INNER),
    "series/clock/loops/function_paths": ("tests/analyzer/series/clock/work_clock_test.cc", INNER),
    "series/clock/loops/loop_choice": ("tests/analyzer/series/clock/loops/loop_finder_test.cc", INNER),
    "series/clock/loader_pass": ("tests/analyzer/series/clock/passes_by_loader_test.cc", INNER),
    "series/clock/loop_events": (CLOCK, INNER),
    "series/clock/mark_log": (CLOCK, INNER),
    "series/process_series": ("tests/analyzer/verdict/analysis_test.cc", DATA),
    "series/run_context": ("tests/analyzer/verdict/analysis_test.cc", DATA),
    "series/site_series": ("tests/analyzer/series/series_accumulator_test.cc", DATA),
    "series/site_traits": ("tests/analyzer/series/series_accumulator_test.cc", DATA),
    "series/clock/step_finder": (CLOCK, INNER),
    "series/clock/work_log": ("tests/analyzer/series/clock/work_clock_test.cc", INNER),
    "symbols/elf_image": ("tests/analyzer/symbols/symbolizer_test.cc", INNER),
    "symbols/frame": (REPORT, DATA),
}


def headers(root):
    for directory, _, names in os.walk(os.path.join(SOURCE, root)):
        room = os.path.relpath(directory, SOURCE)
        if any(room == whole or room.startswith(whole + "/") for whole in WHOLE):
            continue
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(directory, name), os.path.join(SOURCE, root))[:-2]


def has_mirror(root, header):
    return any(os.path.exists(os.path.join(SOURCE, "tests", root, header + "_test" + end)) for end in (".cc", ".py"))


def problems_of(root, elsewhere):
    known = sorted(headers(root))
    for header in known:
        if has_mirror(root, header):
            if header in elsewhere:
                yield f"{root}/{header}.h has a test of its own: take its row out of tests/checks/mirror.py"
        elif header not in elsewhere:
            yield (f"{root}/{header}.h has no test: write tests/{root}/{header}_test.cc, or say in "
                   "tests/checks/mirror.py which test notices a mistake in it")
        elif not os.path.exists(os.path.join(SOURCE, elsewhere[header][0])):
            yield f"{root}/{header}.h is said to be tested by {elsewhere[header][0]}, which does not exist"
    for header in sorted(set(elsewhere) - set(known)):
        yield f"tests/checks/mirror.py has a row for {root}/{header}.h, which does not exist"


def main():
    problems = [*problems_of("preload", PRELOAD), *problems_of("analyzer", ANALYZER)]
    problems += [f"{tests} does not exist" for tests in WHOLE.values() if not os.path.isdir(os.path.join(SOURCE, tests))]
    if problems:
        print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
