#!/usr/bin/env python3
"""`plateau watch --metrics` on a run that goes on: a file, a server on this machine, and the end of both with the run."""
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from plateau_cli import PLATEAU, SHIM, SOURCE, plateau

# Leaks a step for each line it is given, so that the test decides how far it is.
PROGRAM = """
import sys
import plateau_trace.mark as mark
kept = []
for line in sys.stdin:
    kept.append(bytearray(70001))
    mark.step()
    print(len(kept), flush=True)
"""
SAMPLE = re.compile(r'^([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (-?[0-9.e+]+)$')


def parse(text):
    """{family: {labels: value}} of OpenMetrics text: every line has to be one that the format knows, in its place."""
    assert text.endswith("# EOF\n"), text[-100:]
    samples, family = {}, None
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            family, kind = line.split()[2:]
            assert family not in samples and kind in ("gauge", "counter"), line
            samples[family] = {}
        elif line.startswith(("# HELP ", "# UNIT ")):
            assert line.split()[2] == family, line
        else:
            found = SAMPLE.match(line)
            assert found and found.group(1) in (family, family + "_total"), line
            assert found.group(2) not in samples[family], line
            samples[family][found.group(2)] = float(found.group(3))
    return samples


def start(folder):
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, LD_PRELOAD=SHIM, PLATEAU_OUT=folder, PYTHONPATH=str(SOURCE / "python")))
    steps(program, 60)
    return program


def steps(program, count):
    for _ in range(count):
        program.stdin.write("\n")
        program.stdin.flush()
        program.stdout.readline()


def scrape(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text"), answer.headers
        return parse(answer.read().decode())


def main():
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "rec")
        program = start(recording)
        watch = subprocess.Popen([PLATEAU, "watch", recording, "--metrics", ":0", "--interval", "0.2"], stderr=subprocess.PIPE, text=True)
        url = watch.stderr.readline().split()[-1]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url), url
        deadline = time.monotonic() + 120
        while not (now := scrape_when_there(url)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert now["plateau_running"] == {None: 1} and now["plateau_steps"][None] >= 59, now
        steps(program, 60)
        while scrape(url)["plateau_steps"][None] < 119 and time.monotonic() < deadline:
            time.sleep(0.1)
        now = scrape(url)
        assert now["plateau_steps"][None] >= 119, now["plateau_steps"]
        # The ledger is read at most every so often; what a process holds is known up to the last event.
        assert sum(now["plateau_process_live_bytes"].values()) > 119 * 70001, now
        assert now["plateau_live_bytes"][None] > 0 and now["plateau_rss_bytes"][None] > 1e6, now
        assert sum(now["plateau_verdict"].values()) == 1, now["plateau_verdict"]
        assert any(60000 < value < 80000 for value in now["plateau_growth_bytes_per_step"].values()), now["plateau_growth_bytes_per_step"]
        try:
            urllib.request.urlopen(url.replace("/metrics", "/else"), timeout=30)
            raise AssertionError("anything is served")
        except urllib.error.HTTPError as error:
            assert error.code == 404, error
        program.communicate()
        assert watch.wait(timeout=120) == 0
        file = os.path.join(folder, "metrics.prom")
        plateau("watch", recording, "--metrics", file)
        with open(file) as text:
            last = parse(text.read())
        assert last["plateau_running"] == {None: 0} and last["plateau_steps"][None] >= 119, last
        assert os.stat(file).st_mode & 0o777 == 0o600
        plateau("watch", recording, "--metrics", "example.org:80", code=2)
    print("metrics are as they should be")


def scrape_when_there(url):
    """The server answers before the first look is through; then there is no text yet."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        text = answer.read().decode()
    return parse(text) if text else None


if __name__ == "__main__":
    main()
