"""What Plateau says of the running program, from inside it, as numbers for a training log.

    from plateau_trace.live import LiveReport

    report = LiveReport()
    report.metrics()     # {"plateau/live_mib": 168.2, "plateau/growth_kib_per_step": 0.0, "plateau/tensors": 1384, "plateau/severity": 1, ...}
    report.verdict()     # "cache_fill"
    report.summary()     # "train.py:19 in keep keeps 1.03 MiB every step; ..."

The recording is read by `plateau report` in a process of its own, at most every `interval` seconds and for at most a tenth of the time. No
call waits for it: the answers are those of the last reading, and empty before the first one has ended and in a program that is not recorded.
"""
import json
import os
import subprocess
import tempfile
import time

from plateau_trace import mark
from plateau_trace.installation import find_plateau

# How a log of numbers says a verdict: 0 fine, 1 bounded growth, 2 undecided, 3 growth without an end.
SEVERITY = {"steady": 0, "warmup_complete": 0, "spike_recovered": 0, "cache_fill": 1, "warmup_in_progress": 1, "spike_retained": 1,
            "worker_duplication": 1, "allocator_retention": 1, "inconclusive": 2, "unbounded_growth": 3, "fragmentation": 3,
            "untraced_growth": 3, "leak": 3, "slow_leak": 3, "staircase": 3}


def environment_without_recorder():
    """For a child that must not be recorded."""
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD" and not key.startswith("PLATEAU_")}


class LiveReport:
    """`recording` is the directory; that of this process when it is not given."""

    def __init__(self, interval=30.0, recording=None):
        self.interval = float(interval)
        self._recording = recording or (os.environ.get("PLATEAU_OUT") if mark.recording() else None)
        self._plateau = find_plateau()
        self._reader = None
        self._answer = None
        self._model = None
        self._next = 0.0
        self._began = 0.0

    def poll(self):
        """Takes the answer of a reading that has ended, and begins one when it is time. Never waits."""
        if not self._recording or not self._plateau:
            return
        now = time.monotonic()
        if self._reader is not None:
            if self._reader.poll() is None:
                return
            self._take()
            self._next = now + max(self.interval, 9 * (now - self._began))
        if now >= self._next:
            self._began = now
            try:
                self._answer = tempfile.TemporaryFile()
                self._reader = subprocess.Popen([self._plateau, "report", self._recording, "--json", "-", "--top", "5"], stdin=subprocess.DEVNULL,
                                                stdout=self._answer, stderr=subprocess.DEVNULL, env=environment_without_recorder())
            except OSError:
                self._reader, self._next = None, now + self.interval

    def wait(self, timeout=60):
        """Reads now, and waits for the answer: for the end of a run, and for tests."""
        self._next = 0.0
        self.poll()
        if self._reader is not None:
            try:
                self._reader.wait(timeout)
            except subprocess.TimeoutExpired:
                return
            self._take()
            self._next = time.monotonic() + self.interval

    def _take(self):
        done, self._reader = self._reader, None
        with self._answer as answer:
            answer.seek(0)
            if done.returncode == 0:
                try:
                    self._model = json.loads(answer.read().decode("utf-8", "replace"))
                except ValueError:
                    pass

    def verdict(self):
        return self._model["verdict"] if self._model else ""

    def summary(self):
        return self._model["headline"].get("summary", "") if self._model else ""

    def metrics(self):
        """Numbers of the last reading; {} when there is none."""
        if not self._model or not self._model["ledger"]:
            return {}
        last, numbers = self._model["ledger"][-1], self._model["headline"]["numbers"]
        rate = numbers.get("rate_bytes_per_step") or sum(site["growth_bytes_per_step"] for site in self._model["sites"])
        metrics = {"plateau/live_mib": last["live_bytes"] / 2**20, "plateau/rss_mib": last["rss_bytes"] / 2**20,
                   "plateau/growth_kib_per_step": rate / 1024, "plateau/tensors": last.get("tensor_count", 0),
                   "plateau/severity": SEVERITY.get(self._model["verdict"], 1)}
        for forecast in self._model["headline"]["forecasts"]:
            if forecast.get("limit_step"):
                metrics["plateau/limit_step"] = forecast["limit_step"]
        return metrics
