#!/usr/bin/env python3
"""`plateau fleet` on jobs of real processes: the odd rank by name, the killed one, the healthy job that is quiet, what cannot be read, and rules."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from fleet_jobs import RANK_PROGRAM, fleet_python, record_job
from plateau_cli import BUILD, PLATEAU, SOURCE, line_of, plateau, report_json


def fleet(python, *arguments, code=0):
    environment = dict(os.environ, PLATEAU_FLEET_PYTHON=python or "/usr/bin/python3")
    done = subprocess.run([PLATEAU, "fleet", *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def report(python, *arguments, code=0):
    return json.loads(fleet(python, *arguments, "--json", "-", code=code).stdout)


def check_verdicts_are_those_of_the_analyzer():
    """The order of verdicts is written twice: once for the card, once in SQL."""
    table = (SOURCE / "analyzer/verdict/vocabulary/verdict_kinds.inc").read_text()
    kinds = {name: (int(rank), tone == "kGrows") for name, rank, tone in re.findall(r'PLATEAU_VERDICT\(\w+, +"(\w+)", +(\d+), (\w+),', table)}
    sql = (SOURCE / "python/plateau_trace/fleet/sql/verdict_kinds.sql").read_text()
    assert kinds == {name: (int(rank), grows == "true") for name, rank, grows in re.findall(r"\('(\w+)', (\d+), (\w+)\)", sql)}, kinds


def check_odd_ranks(folder, python):
    """A job on two nodes: rank 5 leaks, rank 2 has a larger cache, rank 6 is killed."""
    first = record_job(folder, os.path.join(folder, "job", "node0"), ranks=4, world=8, leak=5, cache=2, PLATEAU_JOB="pretrain")
    second = record_job(folder, os.path.join(folder, "job", "node1"), ranks=4, first=4, world=8, leak=5, kill=6, PLATEAU_JOB="pretrain")
    page = os.path.join(folder, "job.html")
    said = report(python, os.path.join(folder, "job"), "--html", page, "--columns", os.path.join(folder, "tables"))
    (job,) = said["jobs"]
    assert (job["job"], job["ranks"], job["world"], job["ranks_missing"]) == ("pretrain", 8, 8, 0), job
    assert job["verdict"] in ("leak", "slow_leak"), job["verdict"]
    odd = {(row["rank"], row["kind"]) for row in job["odd_ranks"]}
    assert odd == {(5, "grows"), (2, "holds more"), (6, "was killed")}, job["odd_ranks"]
    line = f"train.py:{line_of(RANK_PROGRAM)} "
    assert job["odd_ranks"][0]["rank"] == 5 and job["odd_ranks"][0]["site"].startswith(line), job["odd_ranks"]
    assert 69000 < job["odd_ranks"][0]["value"] < 71000, job["odd_ranks"]
    assert job["first_limit"]["rank"] == 5 and job["sites"][0]["growing_ranks"] == 1, (job["first_limit"], job["sites"][0])
    assert pathlib.Path(page).read_text().count("<h2>Odd ranks</h2>") == 1
    # Tables that are there already are reduced as they are, and the numbers are the same.
    again = report(python, os.path.join(folder, "tables"))
    assert again == said, (again, said)
    text = fleet(python, os.path.join(folder, "tables")).stdout
    assert re.search(r"rank 5 grows by 6[78]\.\d KiB/step", text) and "rank 6 was killed" in text, text
    # Half of a job's ranks are no job.
    (half,) = report(python, second)["jobs"]
    assert half["ranks_missing"] == 4, half
    return first


# As torchrun does: when one of its ranks is killed, it stops the others, which wait for what the dead one would have sent.
STOPPING_LAUNCHER = """
import os, subprocess, sys, time
ranks = [subprocess.Popen([sys.executable, sys.argv[1]], env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3")) for rank in range(3)]
while all(rank.poll() is None for rank in ranks):
    time.sleep(0.05)
for rank in ranks:
    if rank.poll() is None:
        rank.terminate()
sys.exit(max(abs(rank.wait()) for rank in ranks) and 1)
"""
DYING_RANK = """
import os, signal, time
import plateau_trace.mark as mark
for step in range(60):
    batch = [bytearray(20001) for _ in range(4)]
    mark.step()
if os.environ["RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600)
"""


def ways_of_the_report(recording):
    """{(rank, way)} as the card and the page say it: rules that are written once in C++ and once in SQL."""
    kinds = {"grows": "grows", "holds": "holds more", "was": "was killed", "stopped": "stopped early"}
    return {(rank["rank"], kinds[sentence.split()[0]]) for rank in report_json(recording)["ranks"] for sentence in rank["odd"]}


def check_report_says_the_same(folder, python):
    """One machine's report and `plateau fleet` name the same ranks."""
    for name, arguments in (("leak", {"leak": 2}), ("cache", {"cache": 1}), ("kill", {"kill": 3}), ("all", {"leak": 0, "cache": 1, "kill": 2}), ("none", {})):
        recording = record_job(folder, os.path.join(folder, "same-" + name), ranks=4, **arguments)
        (job,) = report(python, recording)["jobs"]
        odd = {(row["rank"], row["kind"]) for row in job["odd_ranks"]}
        expected = {(rank, {"leak": "grows", "cache": "holds more", "kill": "was killed"}[way]) for way, rank in arguments.items()}
        assert odd == expected == ways_of_the_report(recording), (name, odd, ways_of_the_report(recording))
        card = " ".join(plateau("report", recording, text=True).split())
        for rank, _ in expected:
            assert f"rank {rank} " in card.lower(), (name, card)


def check_stopped_by_launcher(folder, python):
    """The killed rank is named, not those that its launcher stopped because of that."""
    program, launcher = os.path.join(folder, "dying.py"), os.path.join(folder, "stopping.py")
    pathlib.Path(program).write_text(DYING_RANK)
    pathlib.Path(launcher).write_text(STOPPING_LAUNCHER)
    recording = os.path.join(folder, "stopped")
    plateau("run", "-q", "--no-report", "-o", recording, "--", sys.executable, launcher, program, code=1,
            env=dict(os.environ, PYTHONPATH=str(SOURCE / "python")))
    (job,) = report(python, recording)["jobs"]
    assert [(row["rank"], row["kind"]) for row in job["odd_ranks"]] == [(1, "was killed")], job["odd_ranks"]
    assert ways_of_the_report(recording) == {(1, "was killed")}
    endings = {rank["rank"]: rank["ending"] for rank in report_json(recording)["ranks"]}
    assert endings == {0: "stopped by SIGTERM", 1: "killed by SIGKILL", 2: "stopped by SIGTERM"}, endings


# Every way to wait for a child, and what it answers.
WAITING = """
import errno, os, signal, sys, time
def child(end):
    pid = os.fork()
    if pid == 0:
        if end > 0:
            os.kill(os.getpid(), end)
            time.sleep(60)
        os._exit(-end)
    return pid
for end in (0, -3, signal.SIGTERM, signal.SIGKILL):
    print(end, os.waitpid(child(end), 0)[1], os.wait4(child(end), 0)[1], os.waitstatus_to_exitcode(os.wait3(0)[1] if child(end) else 0))
pid = child(signal.SIGSTOP)
print(os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]), os.waitpid(pid, os.WNOHANG))
os.kill(pid, signal.SIGKILL)
print(os.waitpid(-1, 0)[1])
for wait in (lambda: os.waitpid(-1, 0), lambda: os.wait4(pid, 0), lambda: os.waitpid(pid, os.WNOHANG)):
    try:
        wait()
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


def check_waiting_is_as_without_us(folder):
    program = os.path.join(folder, "waiting.py")
    pathlib.Path(program).write_text(WAITING)
    alone = subprocess.run(["/usr/bin/python3", program], capture_output=True, text=True, timeout=60)
    traced = subprocess.run(["/usr/bin/python3", program], capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, LD_PRELOAD=str(BUILD / "lib/libplateau.so"), PLATEAU_OUT=os.path.join(folder, "waiting")))
    assert (alone.stdout, alone.stderr, alone.returncode) == (traced.stdout, traced.stderr, traced.returncode), (alone, traced)
    assert alone.stdout.count("ECHILD") == 3, alone.stdout


OLD_VERSION = """
import plateau_trace.mark as mark
kept = []
def collate():
    return [bytearray(20001) for _ in range(4)]
def remember():
    kept.append(bytearray(30001))
for step in range(120):
    collate()
    remember()
    mark.step()
"""
NEW_VERSION = OLD_VERSION.replace("kept = []", "kept, seen = [], []").replace("    return [", "    # lines move\n    seen.append(bytearray(50001))\n    return [")


def check_what_regressed(folder, python):
    """Two versions of a script: what both do is no news, though its line has moved; what the new one adds is."""
    for version, text in (("v1", OLD_VERSION), ("v2", NEW_VERSION)):
        place = pathlib.Path(folder, "versions", version)
        place.mkdir(parents=True)
        (place / "train.py").write_text(text)
        plateau("run", "-q", "--no-report", "-o", place / "rec", "--", sys.executable, place / "train.py",
                env=dict(os.environ, PYTHONPATH=str(SOURCE / "python"), PLATEAU_JOB="night-" + version, PLATEAU_CODE_VERSION=version, RANK="0"))
        time.sleep(1.1)  # recordings say their start by the second
    said = report(python, os.path.join(folder, "versions"))
    (worse,) = said["regressions"]
    assert (worse["place"], worse["version_before"], worse["version"]) == ("train.py in collate", "v1", "v2"), said["regressions"]
    assert worse["highest_before"] == 0 and 45000 < worse["highest_growth"] < 55000, worse
    (history,) = said["history"]
    assert [run["version"] for run in history["runs"]] == ["v1", "v2"], history
    growth = {entry["place"]: entry["growth"] for entry in history["places"]}
    assert all(29000 < bytes_ < 31000 for bytes_ in growth["train.py in remember"]), growth
    text = fleet(python, os.path.join(folder, "versions")).stdout
    assert "Grows more than in the run before" in text and "night-v2 (v2)" in text, text


def check_rules(folder, python):
    tables = os.path.join(folder, "tables")
    done = fleet(python, tables, "--rule", "fail-on leak", "--rule", "max-odd-ranks 3", "--rule", "min-ranks 8", code=1)
    assert done.stderr.count("broken rule") == 1 and "fail-on leak" in done.stderr, done.stderr
    fleet(python, tables, "--rule", "max-growth 1MiB/step", "--rule", "max-share leak 20%")
    fleet(python, tables, "--rule", "max-growth 64KiB/step", code=1)
    fleet(python, tables, "--rule", "max-share leak 10%", code=1)
    fleet(python, tables, "--rule", "be-nice 1", code=2)


def check_healthy(folder, python):
    record_job(folder, os.path.join(folder, "healthy"), ranks=8)
    (job,) = report(python, os.path.join(folder, "healthy"), "--rule", "fail-on growth", "--rule", "max-odd-ranks 0")["jobs"]
    assert job["verdict"] in ("steady", "warmup_complete") and job["odd_ranks"] == [] and job["unsound"] == [], job


def check_unsound(folder, python):
    """A job of which one node's recording is gone, one is of a newer version, one is still running."""
    mixed = pathlib.Path(folder, "mixed")
    for name in ("newer", "noise", "launched"):
        (mixed / name).mkdir(parents=True)
    trace = next(pathlib.Path(folder, "healthy").glob("*.plt")).read_bytes()
    (mixed / "newer/train.1.2.plt").write_bytes(trace[:8] + b"\x63" + trace[9:])
    (mixed / "noise/train.1.2.plt").write_bytes(b"nothing")
    (mixed / "launched/ending.txt").write_text("exit 1\n")
    running = subprocess.Popen([sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=dict(os.environ, LD_PRELOAD=str(BUILD / "lib/libplateau.so"), PLATEAU_OUT=str(mixed / "running")))
    running.stdout.read(1)
    try:
        said = report(python, mixed, "--job", "mixed")
    finally:
        running.communicate()
    (job,) = said["jobs"]
    assert {row["status"] for row in job["unsound"]} == {"newer", "unreadable", "empty", "running"}, job["unsound"]
    assert all(row["reason"] for row in job["unsound"]) and job["verdict"] == "inconclusive", job


def check_other_files(folder, python):
    other = pathlib.Path(folder, "other")
    other.mkdir()
    for number in range(10000):
        (other / f"image{number}.jpg").touch()
    began = time.process_time(), time.monotonic()
    done = fleet(python, other, code=3)
    assert "no recording there (10000 other files)" in done.stderr, done.stderr
    print(f"10,000 other files: {time.monotonic() - began[1]:.2f} s")
    assert "nowhere: no such file or directory" in fleet(python, os.path.join(folder, "nowhere"), code=3).stderr


def check_without_duckdb(folder):
    done = fleet("/usr/bin/python3", os.path.join(folder, "healthy"), code=5)
    assert 'pip install "plateau-trace[fleet]"' in done.stderr, done.stderr


def main():
    check_verdicts_are_those_of_the_analyzer()
    python = fleet_python()
    with tempfile.TemporaryDirectory() as folder:
        check_other_files(folder, "/usr/bin/python3")
        check_waiting_is_as_without_us(folder)
        if python is None:
            return
        check_odd_ranks(folder, python)
        check_rules(folder, python)
        check_report_says_the_same(folder, python)
        check_stopped_by_launcher(folder, python)
        check_what_regressed(folder, python)
        check_healthy(folder, python)
        check_unsound(folder, python)
        if subprocess.run(["/usr/bin/python3", "-c", "import duckdb"], capture_output=True).returncode:
            check_without_duckdb(folder)
    plateau("fleet", code=2)
    print("fleet finds the odd ranks")


if __name__ == "__main__":
    main()
