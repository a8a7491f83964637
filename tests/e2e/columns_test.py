#!/usr/bin/env python3
"""`plateau export -f parquet`: every rank of a job is a row, in files that an independent engine reads."""
import os
import pathlib
import subprocess
import sys
import tempfile

from fleet_jobs import RANK_PROGRAM, fleet_python, record_job
from plateau_cli import SOURCE, line_of, plateau, report_json

TABLES = "jobs ranks sites series ledger stacks frames verdicts holders".split()
SITE = f"train.py:{line_of(RANK_PROGRAM)} %"

# Reads the tables with DuckDB and prints what the test looks at.
QUERIES = """
import duckdb, json, sys
folder = sys.argv[1]
db = duckdb.connect()
def rows(query):
    return db.execute(query).fetchall()
for table in "%(tables)s".split():
    db.execute(f"create view {table} as select * from read_parquet('{folder}/{table}/**/*.parquet', hive_partitioning=true, hive_types_autocast=false)")
print(json.dumps({
    "ranks": rows("select rank, attempt, world, status, steps, verdict, site, retained_bytes, job, node from ranks order by rank, attempt"),
    "jobs": rows("select status, reason, ranks, world, other_processes, unreadable_files, job from jobs order by job, reason"),
    "sums": rows("select rank, attempt, sum(retained_bytes)::bigint from sites group by all order by all"),
    "grows": rows("select rank, site, growth_bytes_per_step from sites where growth_bytes_per_step > 1000"),
    "curve": rows("select max(live_bytes) from series join sites using (rank, attempt, site_key) where sites.site like '%(site)s'"),
    "stack": rows("select frames.function from sites join stacks using (stack_key) join frames using (frame_key) where sites.site like '%(site)s' order by depth"),
    "spread": rows("select count(distinct site_key), count(distinct site) from sites where site like '%(site)s'"),
    "pools": rows("select distinct name from verdicts where about = 'pool'"),
    "ledger": rows("select count(*), min(rss_bytes) > 0 from ledger"),
}))
""" % {"tables": " ".join(TABLES), "site": SITE}


def read(python, columns):
    import json

    done = subprocess.run([python, "-c", QUERIES, columns], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files(columns):
    return {str(path.relative_to(columns)): path.read_bytes() for path in pathlib.Path(columns).rglob("*.parquet")}


def check_job(folder, python):
    recording = record_job(folder, os.path.join(folder, "rec"), leak=2, PLATEAU_JOB="night 7")
    columns = os.path.join(folder, "columns")
    plateau("export", recording, "-f", "parquet", "-o", columns)
    written = files(columns)
    assert sorted({name.split("/")[0] for name in written}) == sorted(TABLES), written.keys()
    assert all("/job=night_7/node=" in name for name in written), written.keys()
    # Work that is done again gives the same files, to the byte.
    plateau("export", recording, "-f", "parquet", "-o", columns)
    assert files(columns) == written
    if python is None:
        return
    rows = read(python, columns)
    assert [row[:5] for row in rows["ranks"]] == [[rank, 0, 4, "ok", 120] for rank in range(4)], rows["ranks"]
    verdicts = [row[5] for row in rows["ranks"]]
    assert verdicts[2] in ("leak", "slow_leak"), verdicts
    assert all(verdict in ("steady", "warmup_complete") for rank, verdict in enumerate(verdicts) if rank != 2), verdicts
    assert rows["ranks"][2][6].startswith(SITE.split(" ")[0]), rows["ranks"]
    assert [row[0] for row in rows["grows"]] == [2] and 69000 < rows["grows"][0][2] < 71000, rows["grows"]
    assert rows["curve"][0][0] >= 119 * 70001, rows["curve"]
    assert rows["stack"] and rows["stack"][-1][0], rows["stack"]
    assert rows["spread"] == [[1, 1]], rows["spread"]  # one site, one key, four ranks
    assert ["host"] in rows["pools"] and rows["ledger"][0][0] >= 8 and rows["ledger"][0][1], (rows["pools"], rows["ledger"])
    assert rows["jobs"] == [["ok", "", 4, 4, 1, 0, "night_7"]], rows["jobs"]
    # What a rank retains is the sum of its sites; the launcher is no rank.
    assert [[row[0], row[1], row[7]] for row in rows["ranks"]] == rows["sums"], (rows["ranks"], rows["sums"])
    assert sum(row[7] for row in rows["ranks"]) < report_json(recording)["totals"]["retained_bytes"]


def check_unsound(folder, python):
    """Nothing of this is an error: each is a row with its reason."""
    columns = os.path.join(folder, "unsound")
    for name in ("empty", "nothing", "newer"):
        os.mkdir(os.path.join(folder, name))
    pathlib.Path(folder, "nothing", "train.1.2.plt").write_bytes(b"\0" * 4096)
    newer = bytearray(next(pathlib.Path(folder, "rec").glob("*.plt")).read_bytes())
    newer[8] = 99  # the major version
    pathlib.Path(folder, "newer", "train.1.2.plt").write_bytes(newer)
    torn = pathlib.Path(folder, "torn")
    torn.mkdir()
    for number, trace in enumerate(sorted(pathlib.Path(folder, "rec").glob("*.plt"))):
        content = bytearray(trace.read_bytes())
        if number == 2:  # the rest of a rank is lost, whose header is left
            content[4096:] = b"\xa5" * (len(content) - 4096)
        (torn / trace.name).write_bytes(content)
    names = ("empty", "nothing", "newer", "torn", "gone")
    plateau("export", *(os.path.join(folder, name) for name in names), "-f", "parquet", "--job", "unsound", "-o", columns)
    plateau("export", os.path.join(folder, "lost"), "--failed", "killed by signal 9", "-f", "parquet", "--job", "unsound", "-o", columns)
    if python is None:
        return
    rows = read(python, columns)
    status = sorted(row[0] for row in rows["jobs"])
    assert status == sorted(["empty", "unreadable", "newer", "damaged", "unreadable", "unreadable"]), rows["jobs"]
    assert all(row[1] for row in rows["jobs"]), rows["jobs"]
    assert any(row[1] == "killed by signal 9" for row in rows["jobs"]), rows["jobs"]
    assert len([row for row in rows["ranks"] if row[3] == "ok"]) == 3, rows["ranks"]
    assert [row[5] for row in rows["jobs"] if row[0] == "damaged"] == [1], rows["jobs"]


def main():
    python = fleet_python()
    with tempfile.TemporaryDirectory() as folder:
        check_job(folder, python)
        check_unsound(folder, python)
    plateau("export", ".", "-f", "parquet", code=2)  # tables need a folder
    print("columns are as they should be")


if __name__ == "__main__":
    sys.path.insert(0, str(SOURCE / "tests/e2e"))
    main()
