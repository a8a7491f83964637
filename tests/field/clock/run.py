#!/usr/bin/env python3
"""Runs the programs of this folder, healthy and leaking, and prints what Plateau said beside the truth.

    tests/field/clock/run.py [WORD...] [--python PYTHON] [--plateau BINARY] [--repeat N] [--keep FOLDER [--again]]

Each row of PROGRAMS is a program, its argument and the truth: `grows` (the line marked HOLD must be first or second and be called
growing), `bounded` (a cache that fills and stays: never a leak) or `steady` (never called growing). A program whose packages the
interpreter lacks is left out and said. COUNT, which a program prints, is compared with the steps of the report where it claims any.
Ends with 1 when something was wrong. --keep leaves the recordings and outputs in FOLDER; --again judges what lies there and runs nothing. Not part of CI: the packages are large. docs/testing.md has the list.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GROWING = {"leak", "slow_leak", "staircase", "unbounded_growth"}
LEAK = {"leak", "slow_leak", "staircase"}
PROGRAMS = [  # kind, program, argument, truth
    ("numpy", "trainer_class.py", "ok", "steady"), ("numpy", "trainer_class.py", "leak", "grows"), ("numpy", "trainer_class.py", "stairs", "grows"),
    ("numpy", "map_loop.py", "ok", "steady"), ("numpy", "map_loop.py", "leak", "grows"),
    ("numpy", "generator_window.py", "ok", "steady"), ("numpy", "generator_window.py", "leak", "grows"), ("numpy", "generator_window.py", "window", "bounded"),
    ("numpy", "queue_threads.py", "ok", "steady"), ("numpy", "queue_threads.py", "leak", "grows"),
    ("numpy", "random_cache.py", "300", "bounded"), ("numpy", "random_cache.py", "1500", "bounded"), ("numpy", "random_cache.py", "30000", "bounded"),
    ("numpy", "small_arrays.py", "ok", "steady"), ("numpy", "small_arrays.py", "leak", "grows"),
    ("numpy", "recursion.py", "ok", "steady"), ("numpy", "recursion.py", "leak", "grows"),
    ("numpy", "epoch_cache.py", "ok", "steady"), ("numpy", "epoch_cache.py", "cache", "bounded"),
    ("numpy", "local_list.py", "ok", "steady"), ("numpy", "local_list.py", "leak", "grows"),
    ("numpy", "phases.py", "ok", "steady"), ("numpy", "phases.py", "leak", "grows"),
    ("numpy", "batch_sizes.py", "ok", "steady"), ("numpy", "batch_sizes.py", "leak", "grows"), ("numpy", "batch_sizes.py", "shapes", "bounded"),
    ("small objects", "small_objects.py", "ok", "steady"), ("small objects", "small_objects.py", "leak", "grows"),
    ("small objects", "text_index.py", "ok", "steady"), ("small objects", "text_index.py", "leak", "grows"),
    ("small objects", "json_churn.py", "ok", "steady"), ("small objects", "json_churn.py", "leak", "grows"),
    ("sklearn", "sklearn_partial.py", "ok", "steady"), ("sklearn", "sklearn_partial.py", "leak", "grows"), ("sklearn", "sklearn_partial.py", "lru", "bounded"),
    ("lightgbm", "lightgbm_train.py", "ok", "steady"), ("lightgbm", "lightgbm_train.py", "leak", "grows"),
    ("xgboost", "xgboost_train.py", "ok", "steady"), ("xgboost", "xgboost_train.py", "leak", "grows"),
    ("xgboost", "xgboost_loop.py", "ok", "steady"), ("xgboost", "xgboost_loop.py", "leak", "grows"),
    ("gymnasium", "gymnasium_episodes.py", "ok", "steady"), ("gymnasium", "gymnasium_episodes.py", "leak", "grows"),
    ("gymnasium", "gymnasium_episodes.py", "ring", "bounded"),
    ("rl", "replay_buffer.py", "ok", "steady"), ("rl", "replay_buffer.py", "leak", "grows"), ("rl", "replay_buffer.py", "ring", "bounded"),
    ("jax", "jax_loop.py", "ok", "steady"), ("jax", "jax_loop.py", "leak", "grows"),
    ("keras", "keras_fit.py", "ok", "steady"), ("keras", "keras_fit.py", "leak", "grows"),
    ("tape", "tape_loop.py", "ok", "steady"), ("tape", "tape_loop.py", "leak", "grows"),
    ("server", "thread_per_request.py", "ok", "steady"), ("server", "thread_per_request.py", "leak", "grows"),
    ("server", "thread_pool.py", "ok", "steady"), ("server", "thread_pool.py", "leak", "grows"), ("server", "thread_pool.py", "lru", "bounded"),
    ("server", "asyncio_queue.py", "ok", "steady"), ("server", "asyncio_queue.py", "leak", "grows"),
    ("server", "asyncio_gather.py", "ok", "steady"), ("server", "asyncio_gather.py", "leak", "grows"),
    ("server", "asyncio_server.py", "ok", "steady"), ("server", "asyncio_server.py", "leak", "grows"), ("server", "asyncio_server.py", "lru", "bounded"),
    ("server", "prefork_server.py", "ok", "steady"), ("server", "prefork_server.py", "leak", "grows"),
    ("joblib", "joblib_batches.py", "ok", "steady"), ("joblib", "joblib_batches.py", "leak", "grows"),
    ("pytest", "pytest_many.py", "ok", "steady"), ("pytest", "pytest_many.py", "leak", "grows"),
    ("notebook", "notebook.py", "ok", "steady"), ("notebook", "notebook.py", "leak", "grows"),
    ("c++", "history.cc", "ok", "steady"), ("c++", "history.cc", "leak", "grows"), ("c++", "history.cc", "window", "bounded"),
    ("c++", "epochs.cc", "ok", "steady"), ("c++", "epochs.cc", "leak", "grows"),
    ("c++", "stages.cc", "ok", "steady"), ("c++", "stages.cc", "leak", "grows"), ("c++", "stages.cc", "ring", "bounded"),
]
# Written without a look at what the clock makes of them: name -> kind and arguments, "ok" steady, "leak" grows, others bounded.
SHAPES = {
    "socket_threads.py": ("server", "ok leak sessions"), "http_threads.py": ("server", "ok leak"), "prefork_chunks.py": ("server", "ok leak"),
    "asyncio_pipeline.py": ("asyncio", "ok leak window"), "worker_pool.py": ("pool", "ok leak cache"), "process_executor.py": ("pool", "ok leak"),
    "generator_stages.py": ("generators", "ok leak"), "grid_search.py": ("itertools", "ok leak best"), "reduced.py": ("itertools", "ok leak"),
    "particles.py": ("small objects", "ok leak last"), "vocabulary.py": ("small objects", "words leak"), "rows.py": ("small objects", "ok leak lru"),
    "minimize_callback.py": ("callback", "ok leak"), "cross_validation.py": ("callback", "ok leak"), "observers.py": ("callback", "ok leak"),
    "bursts.py": ("pauses", "ok leak"), "long_warmup.py": ("phases", "ok leak"), "curriculum.py": ("sizes", "ok leak"),
    "folds.py": ("nested", "ok leak cache"), "cycles.py": ("numpy", "ok leak"), "retries.py": ("numpy", "ok leak"),
    "policy_gradient.py": ("rl", "ok leak"), "vector_env.py": ("rl", "ok leak"), "jax_scan.py": ("jax", "ok leak"),
    "train_on_batch.py": ("keras", "ok leak"), "two_cells.py": ("notebook", "ok leak"),
    "workers.cc": ("c++", "ok leak last"), "nested.cc": ("c++", "ok leak cache"),
    "csv_chunks.py": ("pandas", "ok leak sum"), "task_set.py": ("asyncio", "ok leak"), "selector_server.py": ("server", "ok leak last"),
    "memoized.py": ("callback", "ok leak lru"), "polling.py": ("pauses", "ok leak last"), "pool_workers.py": ("pool", "ok leak last"),
    "boosted_rounds.py": ("lightgbm", "ok leak best"), "parser.cc": ("c++", "ok leak names"),
}
# Programs as people write them, written and scored once before the clock was changed for any of them.
EVERYDAY = {
    "daily_features.py": ("pandas", "ok leak month"), "row_apply.py": ("pandas", "ok leak"), "model_search.py": ("sklearn", "ok leak best"),
    "boosting_monitor.py": ("xgboost", "ok leak last"), "q_learning.py": ("gymnasium", "ok leak deque"), "jax_epochs.py": ("jax", "ok leak batches"),
    "fit_predictions.py": ("keras", "ok leak epoch"), "tape_trainer.py": ("tape", "ok leak"), "wsgi_sessions.py": ("server", "ok leak expire"),
    "keep_alive.py": ("asyncio", "ok leak last"), "accept_loop.py": ("server", "ok leak"), "parallel_rounds.py": ("joblib", "ok leak"),
    "unordered_results.py": ("pool", "ok leak best"), "pytest_session.py": ("pytest", "ok leak"), "notebook_report.py": ("notebook", "ok leak"),
    "game_tree.py": ("generators", "ok leak last"), "poll_jobs.py": ("pauses", "ok leak last"), "uneven_stages.py": ("nested", "ok leak"),
    "evolution.py": ("callback", "ok leak lru"), "late_start.py": ("phases", "ok leak"), "clean_exit.py": ("phases", "ok leak"),
    "barrier_threads.py": ("threads", "ok leak"), "open_figures.py": ("matplotlib", "ok leak"), "thumbnails.py": ("pillow", "ok leak cache"),
    "futures.py": ("threads", "ok leak"), "ingest.cc": ("c++", "ok leak last"), "marked.cc": ("c++", "ok leak ring"),
    "event_loop.cc": ("c++", "ok leak"),
}
TRUTH = {"ok": "steady", "leak": "grows"}
for _folder, _programs in (("shapes/", SHAPES), ("everyday/", EVERYDAY)):
    for _name, (_kind, _arguments) in _programs.items():
        PROGRAMS += [(_kind, _folder + _name, argument, TRUTH.get(argument, "bounded")) for argument in _arguments.split()]
# Where the leaking lines are not the program's own: the end of the file's name ("" for a cell), and the lines.
LINES_ELSEWHERE = {"notebook.py": ("", {3}), "two_cells.py": ("", {5}), "notebook_report.py": ("", {7, 8}),
                   "pytest_session.py": ("test_table.py", {12})}


def command_of(options, program, folder):
    if not program.endswith(".cc"):
        return [options.python, str(HERE / program)]
    binary = pathlib.Path(folder) / pathlib.Path(program).stem
    if not binary.exists():
        subprocess.run(["c++", "-g", "-O1", "-std=c++20", "-I", HERE.parents[2] / "preload/include", "-o", binary,
                        HERE / program], check=True)
    return [str(binary)]


def rank_of_line(report, program):
    """Place of the first site on a line marked HOLD, counted from 1 and with one place a line, or 0. As on the card, sites that
    grow come first: in a short run the imports hold more than any loop."""
    lines = {n for n, text in enumerate((HERE / program).read_text().splitlines(), 1) if "HOLD" in text and not text.startswith('"""')}
    file, lines = LINES_ELSEWHERE.get(pathlib.Path(program).name, (pathlib.Path(program).name, lines))
    seen = []
    for site in sorted(report["sites"], key=lambda s: s["verdict"] not in GROWING):
        where = (site["file"], site["line"])
        if where in seen:
            continue
        seen.append(where)
        is_in_file = site["file"].endswith(file) if file else "ipykernel" in site["file"] or site["file"].startswith("In [")
        if is_in_file and site["line"] in lines:
            return len(seen)
        if len(seen) >= 20:
            break
    return 0


def judge(report, output, program, truth):
    """(what was said, what is wrong with it)"""
    rank = rank_of_line(report, program)
    verdict = report["verdict"]
    site = next((s["verdict"] for s in report["sites"] if s["verdict"] in GROWING), "")
    wrong = []
    if truth == "grows":
        if rank not in (1, 2):
            wrong.append("line")
        if verdict not in GROWING:
            wrong.append("not growing")
    if truth == "bounded" and (verdict in LEAK or site in LEAK):
        wrong.append("false leak")
    if truth == "steady" and (verdict in GROWING or site in GROWING):
        wrong.append("false growth")
    counts = {int(n) for n in re.findall(r"=(\d+)", " ".join(re.findall(r"COUNT (.*)", output)))}
    steps = report["steps"]["count"]
    # Rounds that are seen in stacks may be off by 1 %.
    if steps and counts and not any(abs(steps - n) <= 0.01 * n for n in counts):
        wrong.append("rounds")
    return f"{report['steps']['source']:9} {steps:6} {verdict:18} line {rank:2}", wrong


def output_of(recording):
    return recording.with_name(recording.name + ".out")


def record(options, program, argument, folder, recording):
    """Runs the program once under Plateau; its output and exit code lie beside the recording."""
    command = [options.plateau, "run", "-q", "--no-report", "-o", recording, "--", *command_of(options, program, folder), argument]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    output_of(recording).write_text(json.dumps([ran.returncode, ran.stdout, ran.stderr]))
    return ran


def again(recording):
    """What record() said of a recording that is there, or None."""
    if not output_of(recording).exists():
        return None
    return subprocess.CompletedProcess([], *json.loads(output_of(recording).read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--plateau", default="plateau")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.again and not options.keep:
        parser.error("--again needs --keep")
    tally = {"runs": 0, "grows": 0, "line": 0, "not growing": 0, "false leak": 0, "false growth": 0, "rounds": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for kind, program, argument, truth in PROGRAMS:
            if options.words and not any(w in f"{kind} {program} {argument}" for w in options.words):
                continue
            for run in range(options.repeat):
                recording = folder / f"{pathlib.Path(program).name}_{argument}_{run}"
                ran = again(recording) if options.again else record(options, program, argument, folder, recording)
                if ran is None:
                    break
                if "ModuleNotFoundError" in ran.stderr + ran.stdout:
                    print(f"{kind:14} {pathlib.Path(program).name:24} {argument:7} left out: packages are missing", flush=True)
                    break
                report = subprocess.run([options.plateau, "report", recording, "--json", "-"], capture_output=True, text=True)
                if ran.returncode or report.returncode:
                    tally["failed"] += 1
                    print(f"{kind:14} {pathlib.Path(program).name:24} {argument:7} failed: {(ran.stderr + report.stderr)[-200:]}", flush=True)
                    continue
                said, wrong = judge(json.loads(report.stdout), ran.stdout, program, truth)
                tally["runs"] += 1
                tally["grows"] += truth == "grows"
                for what in wrong:
                    tally[what] += 1
                print(f"{kind:14} {pathlib.Path(program).name:24} {argument:7} {truth:8} {said}  {', '.join(wrong)}", flush=True)
    print(" ".join(f"{name}={count}" for name, count in tally.items()))
    sys.exit(any(tally[name] for name in ("line", "not growing", "false leak", "false growth", "rounds", "failed")))


if __name__ == "__main__":
    main()
