#!/usr/bin/env python3
"""4,096 ranks made from at least 30 different real recordings: a planted odd rank is found 100 of 100 times and no other, on DuckDB within a bound of
memory and time.

    python3 -m venv env && env/bin/pip install duckdb && env/bin/python tests/field/fleet/many_ranks.py [--ranks 4096] [--trials 100]

Each synthetic rank is the tables of one real rank (recorded here: loops that keep nothing, warm up, keep a cache, churn) with its amounts scaled by up to
two per cent. 8 ranks make a node. A trial plants one rank whose site leaks and runs the SQL on all of them.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from cluster_jobs import SOURCE, columns, reduce

import duckdb

PROGRAM = """
import random, sys
import plateau_trace.mark as mark
kind, seed = int(sys.argv[1]) % 5, int(sys.argv[1])
random.seed(seed)
kept, cache = [], {}
table = [bytearray(200000 + 1000 * seed) for _ in range(4)]
for step in range(90):
    batch = [bytearray(20000 + random.randrange(20000)) for _ in range(6)]
    if kind == 1 and step < 20:
        kept.append(bytearray(60000))
    if kind == 2:
        cache.setdefault(random.randrange(30), bytearray(50000 + 100 * seed))
    if kind == 3:
        kept = [bytearray(30000) for _ in range(random.randrange(4, 9))]
    if kind == 4 and step % 30 == 10:
        kept = [bytearray(2000000)]
    mark.step()
    if step % 30 == 29:
        mark.epoch()
"""
RANKS_OF_A_NODE = 8


def record(folder, count):
    program = os.path.join(folder, "train.py")
    pathlib.Path(program).write_text(PROGRAM)

    def one(number):
        recording = os.path.join(folder, "rec%02d" % number)
        environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python"), RANK=str(number), WORLD_SIZE=str(count), PLATEAU_JOB="template")
        subprocess.run([os.environ["PLATEAU_BIN"], "run", "-q", "--no-report", "-o", recording, "--", sys.executable, program, str(number)],
                       check=True, env=environment)
        return recording

    with ThreadPoolExecutor(2) as pool:
        recordings = list(pool.map(one, range(count)))
    tables = os.path.join(folder, "templates")
    began = os.times()
    columns.write(recordings, tables)
    ended = os.times()
    cpu = ended.children_user + ended.children_system - began.children_user - began.children_system
    print("map: %.3f s of CPU a rank, %d recordings; 4,096 ranks on 64 cores: %.1f s" % (cpu / count, count, cpu / count * 4096 / 64))
    return tables


def write_job(templates, folder, ranks, seed):
    """The tables of a job, one file per node and table."""
    os.makedirs(folder)
    database = duckdb.connect()
    for table in reduce.TABLES:
        database.execute("CREATE VIEW %s AS SELECT * EXCLUDE (job, node) FROM read_parquet('%s/%s/**/*.parquet', hive_partitioning = true)" % (
            table, templates, table))
    count = database.execute("SELECT count(*) FROM ranks").fetchall()[0][0]
    generator = random.Random(seed)
    database.execute("CREATE TABLE places (rank BIGINT, template BIGINT, node BIGINT, factor DOUBLE)")
    places = [(rank, generator.randrange(count), rank // RANKS_OF_A_NODE, 1 + generator.uniform(-0.02, 0.02)) for rank in range(ranks)]
    database.execute("INSERT INTO places SELECT * FROM (VALUES %s)" % ", ".join("(%d, %d, %d, %.6f)" % place for place in places))
    scaled = {"sites": ("retained_bytes", "peak_bytes", "temporary_bytes"), "series": ("live_bytes",), "ledger": ("rss_bytes", "live_bytes"),
              "ranks": ("retained_bytes", "peak_bytes", "peak_rss_bytes", "last_rss_bytes")}
    for table in reduce.TABLES:
        if table == "holders":  # without rows so far: nothing would be written
            shutil.copytree(os.path.join(templates, table), os.path.join(folder, table))
            continue
        columns_ = [row[0] for row in database.execute("DESCRIBE %s" % table).fetchall()]
        if "rank" not in columns_:
            source = "SELECT DISTINCT nodes.node, %s.* FROM %s, (SELECT DISTINCT node FROM places) nodes" % (table, table)
            if table == "jobs":
                source = ("SELECT places.node, min(jobs.recording || places.node) AS recording, min(path) AS path, 'ok' AS status, '' AS reason, "
                          "min(started_utc) AS started_utc, max(seconds) AS seconds, min(version) AS version, min(command) AS command, "
                          "count(*) AS ranks, %d::BIGINT AS world, count(*) AS trace_files, 0::BIGINT AS other_processes, 0::BIGINT AS unreadable_files "
                          "FROM places, (SELECT * FROM jobs LIMIT 1) jobs GROUP BY places.node" % ranks)
        else:
            changed = ["places.rank AS rank"]
            if "recording" in columns_:
                changed.append("'node' || places.node AS recording")
            if "world" in columns_:
                changed.append("%d::BIGINT AS world" % ranks)
            changed += ["round(t.%s * factor)::BIGINT AS %s" % (name, name) for name in scaled.get(table, ())]
            source = "SELECT places.node, t.* REPLACE (%s) FROM %s t JOIN places ON t.rank = places.template" % (", ".join(changed), table)
        database.execute("COPY (SELECT 'synthetic' AS job, 'host' || node AS node, * EXCLUDE (node) FROM (%s)) TO '%s/%s' "
                         "(FORMAT parquet, COMPRESSION zstd, PARTITION_BY (job, node), OVERWRITE_OR_IGNORE)" % (source, folder, table))
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*.parquet"))


TRIAL = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from plateau_trace.fleet import reduce
began = time.process_time()
results = reduce.results_of_duckdb(sys.argv[2])
print(json.dumps({"cpu": time.process_time() - began, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                  "odd": [(row["rank"], row["kind"], row["site"]) for row in results["odd_ranks"]]}))
"""


def reduce_once(folder):
    done = subprocess.run([sys.executable, "-c", TRIAL, str(SOURCE / "python"), folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plant(folder, trial, ranks):
    """A rank whose site leaks: the row that the analyzer writes of one. Removed again by the caller."""
    generator = random.Random(trial)
    rank = generator.randrange(ranks)
    rate = generator.choice((300, 2000, 65536, 1 << 20)) * generator.uniform(1, 2)
    node = "job=synthetic/node=host%d" % (rank // RANKS_OF_A_NODE)
    place = pathlib.Path(folder, "sites", node, "planted.parquet")
    source = "read_parquet('%s/sites/%s/data_0.parquet')" % (folder, node)
    duckdb.connect().execute(
        "COPY (SELECT * REPLACE ('slow_leak' AS verdict, 'ffffffffffffffffffffffffffffffff' AS site_key, 'data.py:57 in collate' AS site, "
        "%f AS growth_bytes_per_step, %f AS growth_low, %f AS growth_high) FROM %s WHERE rank = %d LIMIT 1) TO '%s' (FORMAT parquet)" % (
            rate, rate * 0.9, rate * 1.1, source, rank, place))
    return rank, place


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--recordings", type=int, default=32)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        templates = record(folder, arguments.recordings)
        for ranks in sorted({64, 512, arguments.ranks}):
            job = os.path.join(folder, "job%d" % ranks)
            size = write_job(templates, job, ranks, seed=1)
            once = reduce_once(job)
            print("%5d ranks: %.1f KB a rank, reduced in %.2f s of CPU (%.2f ms a rank), %.0f MB of memory, odd ranks %s" % (
                ranks, size / ranks / 1000, once["cpu"], 1000 * once["cpu"] / ranks, once["rss"] / 1e6, once["odd"]))
            assert once["odd"] == [], once["odd"]
        found, began = 0, time.monotonic()
        for trial in range(arguments.trials):
            rank, place = plant(job, trial, arguments.ranks)
            odd = reduce_once(job)["odd"]
            place.unlink()
            assert odd and odd[0][0] == rank and len(odd) == 1, (trial, rank, odd)
            found += 1
        print("planted rank found first %d of %d times, no other one named; %.1f s a trial" % (
            found, arguments.trials, (time.monotonic() - began) / max(1, arguments.trials)))
        if arguments.ranks == 4096:
            assert size / ranks <= 10000 and once["rss"] <= 1 << 30, (size / ranks, once["rss"])


if __name__ == "__main__":
    main()
