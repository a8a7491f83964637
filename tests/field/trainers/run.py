#!/usr/bin/env python3
"""Steps, epochs, evaluations and checkpoints of real trainers: what `plateau report` found against what the program counted.

    PLATEAU_BUILD=build/ci tests/field/trainers/run.py PYTHON [-k WORD]... [--without-hook] [--repeat N] [--keep FOLDER]

PYTHON is an interpreter with torch and, for the trainers, transformers, accelerate, lightning, timm, trl and datasets from pip; with torch
alone (Debian's) the plain loops are run. Nothing is downloaded: models are made from configurations, data are made up. Each program
writes its own counts to a file as it goes, so that a killed one has left them too. Not part of the normal tests: it needs these packages and
takes minutes. --keep leaves the recordings that were judged wrong in FOLDER.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("PLATEAU_BUILD", "build/ci")
PLATEAU = os.path.join(BUILD, "bin/plateau")
COUNTS = ("steps", "epochs", "evaluations", "checkpoints")

# Program, what it imports, cases. A case that is killed inside an evaluation has begun one more than it could count.
PROGRAMS = (
    ("hf.py", "transformers", "plain accumulation leftover eval_epoch eval_steps eval_on_start save save_epoch_eval save_eval_steps iterable "
                              "max_steps drop_last workers persistent final_evaluate killed killed_last killed_first killed_eval resume"),
    ("sft.py", "trl", "plain accumulation eval_steps_save killed"),
    ("preference.py", "trl", "plain eval"),
    ("accelerated.py", "accelerate", "plain accumulation leftover eval iterable save killed_last resume"),
    ("lit.py", "lightning", "plain accumulation validation_interval val_quarter every_second no_sanity manual max_steps iterable two_loaders "
                            "two_validations workers killed_last killed_validation checkpoint resume"),
    ("timm_loop.py", "timm", "plain workers save"),
    ("loops.py", "torch", "cycle endless replacement zipped in_turn rollouts ahead ahead_killed background killed partial drop_last stream "
                          "frozen baseline ppo dqn leftover lbfgs two_phase folds resumed bucketed evaluate_train workers_killed early_stop "
                          "distilled"),
)
EVALUATIONS_BEGUN = {("hf.py", "killed_eval"): 1}


def environment_of(folder, truth=None):
    environment = dict(os.environ, HF_HUB_OFFLINE="1", HF_HOME=folder, TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
    if truth:
        environment["TRUTH"] = truth
    return environment


def run(python, program, case, with_hook, keep):
    """Returns (truth, found, what went wrong or None). `keep` is where a wrong recording goes, or None."""
    with tempfile.TemporaryDirectory() as folder:
        recording, truth_file = os.path.join(folder, "rec"), os.path.join(folder, "truth.json")
        command = [python, os.path.join(HERE, program)]
        earlier = {("hf.py", "resume"): "make_checkpoint", ("lit.py", "resume"): "resume"}.get((program, case))
        if earlier:  # the run that is resumed
            subprocess.run([*command, earlier, folder], env=environment_of(folder), capture_output=True, check=True)
        environment = environment_of(folder, truth_file)
        if with_hook:
            done = subprocess.run([PLATEAU, "run", "-o", recording, "--", *command, case, folder], env=environment, capture_output=True,
                                  text=True)
        else:
            environment.update(LD_PRELOAD=os.path.abspath(os.path.join(BUILD, "lib/libplateau.so")), PLATEAU_OUT=recording)
            done = subprocess.run([*command, case, folder], env=environment, capture_output=True, text=True)
        is_killed = "killed" in case
        if (done.returncode == 0) == is_killed:
            return {}, {}, "exit code %d\n%s" % (done.returncode, done.stderr[-2000:])
        with open(truth_file) as file:
            truth = json.load(file)
        truth["evaluations"] += EVALUATIONS_BEGUN.get((program, case), 0)
        report = subprocess.run([PLATEAU, "report", recording, "--json", "-"], capture_output=True, text=True)
        if report.returncode != 0:
            return truth, {}, report.stderr
        steps = json.loads(report.stdout)["steps"]
        steps["steps"] = steps["count"]
        if keep and any(steps.get(key) != truth.get(key) for key in COUNTS):
            shutil.copytree(recording, keep)
        return truth, steps, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("-k", action="append", default=[], help="only cases whose name (program:case) holds this word")
    parser.add_argument("--without-hook", action="store_true", help="LD_PRELOAD alone, without the launcher and its Python start-up hook")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--keep", metavar="FOLDER")
    arguments = parser.parse_args()
    right = total = 0
    for program, package, cases in PROGRAMS:
        probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)" % package
        names = ["%s:%s" % (program[:-3], case) for case in cases.split()]
        if arguments.k and not any(word in name for word in arguments.k for name in names):
            continue
        if subprocess.run([arguments.python, "-c", probe]).returncode != 0:
            print("-- %s is left out: no %s" % (program, package))
            continue
        for name, case in [pair for pair in zip(names, cases.split()) for _ in range(arguments.repeat)]:
            if arguments.k and not any(word in name for word in arguments.k):
                continue
            keep = arguments.keep and os.path.join(arguments.keep, "%s_%d" % (name.replace(":", "_"), total))
            truth, found, wrong = run(arguments.python, program, case, not arguments.without_hook, keep)
            wanted = {key: truth.get(key) for key in COUNTS}
            got = {key: found.get(key) for key in COUNTS}
            is_right = wrong is None and wanted == got
            total, right = total + 1, right + is_right
            print("%s %s" % ("ok   " if is_right else "WRONG", name), *(str(wanted[key]) for key in COUNTS), flush=True)
            if wrong is not None:
                print("      " + wrong, flush=True)
            elif not is_right:
                print("      found %s: %s" % (" ".join(str(got[key]) for key in COUNTS), found.get("sentence", found.get("note"))),
                      flush=True)
    print("%d of %d right" % (right, total))
    sys.exit(right != total)


main()
