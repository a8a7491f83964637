#!/usr/bin/env python3
"""Spark in local-cluster mode with three executors maps 66 recordings, an executor is killed in the middle, and the SQL gives the rows of DuckDB.

    apt-get install openjdk-17-jre-headless && python3 -m venv env && env/bin/pip install pyspark pandas pyarrow duckdb
    env/bin/python tests/field/fleet/spark_cluster.py
"""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from cluster_jobs import expected, files_of, record, rows
from plateau_trace.fleet import spark as fleet_spark

import pyspark
from pyspark.sql import SparkSession


def descendants(pid):
    listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()[1:]
    rows_ = [line.split(None, 2) for line in listing]
    found, above = [], {str(pid)}
    for _ in range(8):
        below = [row for row in rows_ if row[1] in above]
        found += below
        above = {row[0] for row in below}
    return found


def kill_an_executor(killed):
    """Ends an executor once it has a Python worker, which maps recordings: both are below this process."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not killed:
        executors = {row[0] for row in descendants(os.getpid()) if "CoarseGrainedExecutorBackend" in row[2]}
        for executor in executors:
            if any("plateau" in row[2] and "export" in row[2] for row in descendants(executor)):
                os.kill(int(executor), signal.SIGKILL)
                killed.append(executor)
                return
        time.sleep(0.05)


def main():
    os.environ.setdefault("SPARK_HOME", os.path.dirname(pyspark.__file__))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        job = record(folder)
        results, files = expected(job)
        spark = (SparkSession.builder.master("local-cluster[3,1,1024]").config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
                 .config("spark.executorEnv.PLATEAU_BIN", os.environ["PLATEAU_BIN"]).config("spark.ui.enabled", "false")
                 .config("spark.executor.memory", "512m").config("spark.sql.shuffle.partitions", "4").getOrCreate())
        try:
            for with_kill in (False, True):
                tables, killed = os.path.join(folder, "tables%d" % with_kill), []
                killer = threading.Thread(target=kill_an_executor, args=(killed,))
                if with_kill:
                    killer.start()
                began = time.monotonic()
                count = fleet_spark.write(spark, job, tables, partitions=12)
                seconds = time.monotonic() - began
                if with_kill:
                    killer.join()
                    assert killed, "no executor was met while it mapped"
                mine = files_of(tables)
                # What cannot be read has its place in its key, and a worker has it in a folder of its own.
                keyed_by_content = {name for name in files if "job=cluster" in name}
                assert {name for name in mine if "job=cluster" in name} == keyed_by_content
                print("%d recordings in %.1f s%s" % (count, seconds, ", executor %s killed" % killed[0] if killed else ""))
                began = time.monotonic()
                by_spark = fleet_spark.results(spark, tables)
                assert rows(by_spark) == rows(results), [name for name in results if rows(by_spark)[name] != rows(results)[name]]
                print("rows of Spark and of DuckDB are equal: %s (%.1f s)" % (
                    ", ".join("%s %d" % (name, len(table)) for name, table in by_spark.items()), time.monotonic() - began))
        finally:
            spark.stop()


if __name__ == "__main__":
    sys.exit(main())
