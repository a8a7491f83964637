#!/usr/bin/env python3
"""Real distributed training with gloo, recorded by `plateau run`: each odd rank is named on the card and by `plateau fleet`, a healthy job is quiet.

    tests/field/fleet/real_jobs.py PYTHON [WORD...]      PYTHON has torch; with accelerate that launcher is tried, too
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from cluster_jobs import SOURCE

HERE = pathlib.Path(__file__).resolve().parent
PLATEAU = os.environ["PLATEAU_BIN"]
FLEET_PYTHON = str(SOURCE / "build/fleet/bin/python3")
GROWS = ("leak", "slow_leak", "unbounded_growth")


def has(python, module):
    return subprocess.run([python, "-c", "import " + module], capture_output=True).returncode == 0


def run(folder, name, command, code=0, **environment):
    recording = os.path.join(folder, name)
    done = subprocess.run([PLATEAU, "run", "-o", recording, "--", *map(str, command)], capture_output=True, text=True, timeout=900,
                          env=dict(os.environ, OMP_NUM_THREADS="1", PLATEAU_JOB=name, **environment))
    assert (done.returncode == 0) == (code == 0), done.stdout + done.stderr[-3000:]
    card = done.stderr[done.stderr.find("plateau:"):]
    fleet = subprocess.run([PLATEAU, "fleet", recording, "--json", "-"], capture_output=True, text=True,
                           env=dict(os.environ, PLATEAU_FLEET_PYTHON=FLEET_PYTHON))
    assert fleet.returncode == 0, fleet.stderr
    (job,) = json.loads(fleet.stdout)["jobs"]
    card = " ".join(card.split())  # sentences are broken into lines anywhere
    words = re.search(r"(\d+ ranks: .*?\.) live", card)
    print("%s\n  card:  %s\n  fleet: %s %s" % (name, words.group(1) if words else "(no word on ranks)", job["sentence"],
                                              "; ".join(job["odd"])), flush=True)
    return card, job


def odd(job, kind):
    return sorted({row["rank"] for row in job["odd_ranks"] if row["kind"] == kind})


def torchrun(python, ranks, *arguments):
    """torchrun of Debian's torch 1.13 does not run on its Python 3.11: there the script starts its ranks itself."""
    script = HERE / "train_ddp.py"
    if subprocess.run([python, "-c", "import sys, torch; sys.exit(torch.__version__ < '2')"]).returncode == 0:
        return [python, "-m", "torch.distributed.run", "--nproc-per-node", ranks, script, *arguments]
    return [python, script, "--spawn", ranks, *arguments]


def jobs(python):
    def healthy(folder):
        _, job = run(folder, "healthy8", torchrun(python, 8))
        assert job["ranks"] == 8 and not job["odd_ranks"] and job["verdict"] not in GROWS, job

    def leak(folder):
        card, job = run(folder, "leak4", torchrun(python, 4, "--leak-rank", 2))
        assert odd(job, "grows") == [2] and job["verdict"] in GROWS, job
        assert "rank 2" in card and "train_ddp.py:23" in card, card

    def leak8(folder):
        card, job = run(folder, "leak8", torchrun(python, 8, "--leak-rank", 5))
        assert odd(job, "grows") == [5] and "rank 5" in card, job

    def cache(folder):
        _, job = run(folder, "cache4", torchrun(python, 4, "--cache-rank", 1))
        assert odd(job, "holds more") == [1] and job["verdict"] not in GROWS, job

    def killed(folder):
        _, job = run(folder, "killed4", torchrun(python, 4, "--kill-rank", 3), code=1)
        # The launcher then ends the other ranks too: no trace tells who was first.
        assert 3 in odd(job, "was killed") or job["killed_ranks"] == 4, job

    def spawn(folder):
        card, job = run(folder, "spawn4", [python, HERE / "train_ddp.py", "--spawn", 4, "--leak-rank", 1])
        assert job["ranks"] == 4 and odd(job, "grows") == [1] and "in rank 1" in card, job

    def fsdp(folder):
        _, job = run(folder, "fsdp4", [python, "-m", "torch.distributed.run", "--nproc-per-node", 4, HERE / "train_fsdp.py"], LEAK_RANK="2")
        assert odd(job, "grows") == [2], job
        assert {(row["dimension"], row["place"], row["odd_ranks"]) for row in job["groups"]} >= {("data", 1, 1), ("data", 0, 0)}, job["groups"]

    def accelerate(folder):
        hosts = pathlib.Path(folder, "hosts")
        hosts.write_text("localhost slots=2\n")
        _, job = run(folder, "accelerate2", [python, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", 2, "--num_machines", 1,
                                             "--mixed_precision", "no", "--dynamo_backend", "no", "--mpirun_hostfile", hosts,
                                             HERE / "train_ddp.py", "--leak-rank", 1],
                     OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        assert odd(job, "grows") == [1], job

    def mpirun(folder):
        card, job = run(folder, "mpirun4", ["mpirun", "--oversubscribe", "-n", 4, python, HERE / "train_ddp.py", "--leak-rank", 0],
                        OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        assert odd(job, "grows") == [0] and "rank 0" in card, job

    wanted = [healthy, leak, leak8, cache, killed, spawn]
    if shutil.which("mpirun"):
        wanted.append(mpirun)
    if has(python, "torch.distributed.fsdp") and has(python, "torch.distributed._composable.fsdp"):
        wanted.append(fsdp)
    if has(python, "accelerate") and shutil.which("mpirun"):
        wanted.append(accelerate)
    return wanted


def main():
    python, words = sys.argv[1], sys.argv[2:]
    failed = []
    for job in jobs(python):
        if words and job.__name__ not in words:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                job(folder)
            except AssertionError as error:
                failed.append(job.__name__)
                print("FAILED %s: %s" % (job.__name__, str(error)[:3000]), flush=True)
    sys.exit("failed: " + ", ".join(failed) if failed else 0)


if __name__ == "__main__":
    main()
