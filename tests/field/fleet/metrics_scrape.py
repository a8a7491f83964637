#!/usr/bin/env python3
"""Debian's Prometheus scrapes `plateau watch --metrics` on a run that leaks: its series arrive, and promtool and Prometheus take the alert rules.

    apt-get install prometheus && python3 tests/field/fleet/metrics_scrape.py
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("PLATEAU_BUILD", SOURCE / "build/ci")).absolute()
PLATEAU, SHIM = str(BUILD / "bin/plateau"), str(BUILD / "lib/libplateau.so")
ALERTS = SOURCE / "docs/monitoring/plateau-alerts.yml"
DASHBOARD = SOURCE / "docs/monitoring/plateau-dashboard.json"
PROGRAM = """
import time
import plateau_trace.mark as mark
kept = []
while True:
    kept.append(bytearray(70001))
    mark.step()
    time.sleep(0.05)
"""


def ask(port, query):
    url = "http://127.0.0.1:%d/api/v1/query?%s" % (port, urllib.parse.urlencode({"query": query}))
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def wait_for(what, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            found = what()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError("waited %d s in vain" % seconds)


def main():
    subprocess.run(["promtool", "check", "rules", str(ALERTS)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "rec")
        children = [subprocess.Popen([sys.executable, "-c", PROGRAM],
                                     env=dict(os.environ, LD_PRELOAD=SHIM, PLATEAU_OUT=recording, PYTHONPATH=str(SOURCE / "python")))]
        try:
            wait_for(lambda: os.path.isdir(recording) and os.listdir(recording))
            watch = subprocess.Popen([PLATEAU, "watch", recording, "--metrics", ":0", "-i", "1"], stderr=subprocess.PIPE, text=True)
            children.append(watch)
            target = watch.stderr.readline().split()[-1].split("/")[2]
            config = pathlib.Path(folder, "prometheus.yml")
            config.write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s]\n"
                              "scrape_configs: [{job_name: plateau, static_configs: [{targets: ['%s']}]}]\n" % (ALERTS, target))
            port = 39464
            log = open(os.path.join(folder, "prometheus.log"), "w")
            children.append(subprocess.Popen(["prometheus", "--config.file", str(config), "--storage.tsdb.path", os.path.join(folder, "data"),
                                              "--web.listen-address", "127.0.0.1:%d" % port], stdout=log, stderr=log))
            assert wait_for(lambda: ask(port, 'up{job="plateau"} == 1'))
            steps = wait_for(lambda: ask(port, "plateau_steps_total > 60"))
            (verdict,) = ask(port, "plateau_verdict == 1")
            growth = wait_for(lambda: ask(port, "plateau_growth_bytes_per_step > 60000"))
            with open(DASHBOARD) as file:
                panels = json.load(file)["panels"]
            queries = [target["expr"].replace("$instance", ".*") for panel in panels for target in panel["targets"]]
            wanted = [query for query in queries if "limit" not in query]  # those of the limit need a forecast
            wait_for(lambda: all(ask(port, query) for query in wanted))
            answers = {query: len(ask(port, query)) for query in queries}
            rules = json.load(urllib.request.urlopen("http://127.0.0.1:%d/api/v1/rules" % port, timeout=10))["data"]["groups"][0]["rules"]
            assert [rule["health"] for rule in rules] == ["ok"] * 4, rules
            print("scraped: %s steps, verdict %s, %s grows by %s; %d queries of the dashboard have an answer, %d alerts are evaluated" % (
                steps[0]["value"][1], verdict["metric"]["kind"], growth[0]["metric"]["site"], growth[0]["value"][1],
                sum(1 for count in answers.values() if count), len(rules)))
        finally:
            for child in children:
                child.kill()
                child.wait()


if __name__ == "__main__":
    main()
