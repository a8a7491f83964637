"""Maps recordings with Ray, each on the node where it lies.

    import ray
    from plateau_trace.fleet import ray as fleet_ray, reduce
    ray.init("auto")
    fleet_ray.write("/local/plateau/*", "tables")                  # the pattern is looked for on every node
    print(reduce.results_of_duckdb("tables")["odd_ranks"])

Tables travel through Ray's object store, a few KiB for a rank; nodes need share no disk. A worker or node that dies is tried again by Ray, and work
that is done twice gives the same files.
"""
from plateau_trace.fleet import columns, recordings


def _find(patterns):
    """Recordings of this node, each with what tells a shared disk from two disks on which things have the same name."""
    import os

    try:
        found = recordings.find(patterns)
    except recordings.NoRecordings:
        return []
    status = [(path, os.stat(path)) for path in found]
    return [(path, "%d %d" % (s.st_ino, s.st_ctime_ns)) for path, s in status]


def _read(recording, job):
    return columns.read_one(recording, job)


def write(patterns, folder, job=None, max_retries=3):
    """Writes the tables of all recordings that the patterns match on any node. Returns {node: [recording]}."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    find = ray.remote(num_cpus=0, max_retries=max_retries)(_find)
    read = ray.remote(num_cpus=1, max_retries=max_retries)(_read)

    def on(node, remote, *arguments):
        return remote.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=True)).remote(*arguments)

    owners, shared = {}, {}
    for node, found in zip(nodes, ray.get([on(node, find, patterns) for node in nodes])):
        for path, inode in found:
            # One inode that several nodes see is one recording on a shared disk; the nodes take turns.
            shared.setdefault((path, inode), []).append(node)
    for number, ((path, inode), seen_by) in enumerate(sorted(shared.items())):
        owners[(path, inode)] = seen_by[number % len(seen_by)]
    if not owners:
        raise recordings.NoRecordings("%s: no recording there on any of %d nodes" % (" ".join(patterns), len(nodes)))
    waiting = [on(node, read, path, job) for (path, _), node in owners.items()]
    while waiting:
        done, waiting = ray.wait(waiting, num_returns=1)
        columns.save(ray.get(done[0]), folder)
    by_node = {}
    for (path, _), node in owners.items():
        by_node.setdefault(node, []).append(path)
    return by_node
