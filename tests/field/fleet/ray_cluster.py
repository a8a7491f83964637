#!/usr/bin/env python3
"""A real two-node Ray cluster on this machine maps 66 recordings; a worker is killed in the middle, and no row changes.

    python3 -m venv env && env/bin/pip install ray duckdb psutil && env/bin/python tests/field/fleet/ray_cluster.py
"""
import os
import signal
import sys
import tempfile
import threading
import time

from cluster_jobs import expected, files_of, record, rows
from plateau_trace.fleet import ray as fleet_ray
from plateau_trace.fleet import reduce

import psutil
import ray
from ray.cluster_utils import Cluster


def kill_a_worker(killed):
    """Ends one process that maps a recording, once one does: it is a grandchild of this process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not killed:
        for process in psutil.Process().children(recursive=True):
            try:
                if process.name().startswith("ray::_read") or "ray::_read" in " ".join(process.cmdline()):
                    process.send_signal(signal.SIGKILL)
                    killed.append(process.pid)
                    return
            except psutil.Error:
                continue
        time.sleep(0.01)


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = record(folder)
        results, files = expected(job)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"], "PLATEAU_BIN": os.environ["PLATEAU_BIN"]}})
        try:
            for with_kill in (False, True):
                tables, killed = os.path.join(folder, "tables%d" % with_kill), []
                killer = threading.Thread(target=kill_a_worker, args=(killed,))
                if with_kill:
                    killer.start()
                began = time.monotonic()
                by_node = fleet_ray.write(os.path.join(job, "*"), tables)
                seconds = time.monotonic() - began
                if with_kill:
                    killer.join()
                    assert killed, "no worker was met while it mapped"
                assert len(by_node) == 2, by_node
                assert files_of(tables) == files, set(files_of(tables)) ^ set(files)
                assert rows(reduce.results_of_duckdb(tables)) == rows(results)
                print("%d recordings on %d nodes in %.1f s%s: the same rows" % (
                    sum(map(len, by_node.values())), len(by_node), seconds, ", worker %s killed" % killed[0] if killed else ""))
        finally:
            ray.shutdown()
            cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())
