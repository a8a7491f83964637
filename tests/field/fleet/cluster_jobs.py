"""What the cluster tests share: a job of 64 recordings on real processes, and its rows by plain `plateau fleet`."""
import os
import pathlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SOURCE = pathlib.Path(__file__).resolve().parents[3]
os.environ.setdefault("PLATEAU_SOURCE", str(SOURCE))
os.environ.setdefault("PLATEAU_BUILD", str(SOURCE / "build/ci"))
os.environ.setdefault("PLATEAU_BIN", str(pathlib.Path(os.environ["PLATEAU_BUILD"]).absolute() / "bin/plateau"))
os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE / "python"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
sys.path[:0] = [str(SOURCE / "tests/e2e"), str(SOURCE / "python")]

from fleet_jobs import record_job  # noqa: E402  (needs the paths above)
from plateau_trace.fleet import columns, recordings, reduce  # noqa: E402

RANKS = 64
LEAKS = 41


def record(folder):
    """64 recordings of one rank each; rank 41 leaks, one recording is damaged and one is of a newer version."""
    def one(rank):
        record_job(folder, os.path.join(folder, "job", "rank%02d" % rank), ranks=1, first=rank, world=RANKS, leak=LEAKS, PLATEAU_JOB="cluster")

    one(0)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(1, RANKS)))
    trace = next(pathlib.Path(folder, "job", "rank07").glob("*.plt")).read_bytes()
    for name, content in (("newer", trace[:8] + b"\x63" + trace[9:]), ("torn", trace[:4096] + b"\xa5" * 20000)):
        place = pathlib.Path(folder, "job", name)
        place.mkdir()
        (place / "train.1.2.plt").write_bytes(content)
    return os.path.join(folder, "job")


def rows(results):
    """Rows without what says where the recordings lie and when the machine did it."""
    return {name: [{key: value for key, value in row.items() if key not in ("what", "reason")} for row in table] for name, table in results.items()}


def expected(job):
    with tempfile.TemporaryDirectory() as folder:
        columns.write(recordings.find([job]), folder)
        results = reduce.results_of_duckdb(folder)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*.parquet")}
    odd = [(row["rank"], row["kind"]) for row in results["odd_ranks"]]
    assert odd == [(LEAKS, "grows")], odd
    return results, files


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*.parquet")}
