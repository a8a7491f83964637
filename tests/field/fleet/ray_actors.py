#!/usr/bin/env python3
"""Ray actors recorded through runtime_env on a real two-node cluster: the leaking one of four is found in tables that came back from both nodes.

    python3 -m venv env && env/bin/pip install ray duckdb && env/bin/python tests/field/fleet/ray_actors.py
"""
import glob
import os
import sys
import tempfile

from cluster_jobs import SOURCE, reduce
from plateau_trace.fleet import ray as fleet_ray
from plateau_trace.ray import runtime_env

import ray
from ray.cluster_utils import Cluster


class Trainer:
    def __init__(self, rank, world):
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
        self.rank, self.kept = rank, []

    def train(self, steps):
        import plateau_trace.mark as mark

        for _ in range(steps):
            batch = [bytearray(20001) for _ in range(4)]
            if self.rank == 2:
                self.kept.append(bytearray(70001))  # THE LINE
            mark.step()
        return mark.recording(), len(batch)


def main():
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
        cluster.add_node(num_cpus=2)
        ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"], "PLATEAU_BIN": os.environ["PLATEAU_BIN"]}})
        try:
            ranks = []
            for rank in range(4):
                # The variables of a rank are known before its worker starts, so the trace has them.
                env = runtime_env(os.path.join(folder, "rec", "actor%d" % rank), env_vars={"PLATEAU_JOB": "actors", "RANK": str(rank), "WORLD_SIZE": "4",
                                  "PYTHONPATH": str(SOURCE / "python"), "PLATEAU_BIN": os.environ["PLATEAU_BIN"]})
                ranks.append(ray.remote(Trainer).options(runtime_env=env, num_cpus=1).remote(rank, 4))
            assert ray.get([rank.train.remote(150) for rank in ranks]) == [(True, 4)] * 4
            for rank in ranks:
                ray.kill(rank)
            by_node = fleet_ray.write(os.path.join(folder, "rec", "*"), os.path.join(folder, "tables"))
            results = reduce.results_of_duckdb(os.path.join(folder, "tables"))
            odd = [(row["rank"], row["kind"], row["site"]) for row in results["odd_ranks"] if row["kind"] == "grows"]
            assert [row[:2] for row in odd] == [(2, "grows")], results["odd_ranks"]
            print("4 actors, %d recordings, %d nodes: %s" % (len(glob.glob(os.path.join(folder, "rec", "*"))), len(by_node), odd))
        finally:
            ray.shutdown()
            cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())
