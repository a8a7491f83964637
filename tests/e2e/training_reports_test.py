"""Real training programs (examples/), and everything that is made from their recordings.

`check` passes a healthy run, fails leaking ones, and does not fail warm-up, a cache fill or growth that is given back. The card keeps its
size. Text, JSON, page, SQLite, pprof, CSV and the bundle add up to the same bytes.
"""
import csv
import gzip
import io
import json
import pathlib
import re
import sqlite3
import sys
import tempfile

from plateau_cli import EXAMPLES, PYTHON, SOURCE, display_width, failures, plateau, record, report_json, run, skip_unless

# Exit code of `plateau check` without rules.
RUNS = {"healthy": 0, "warm_up": 0, "image_cache": 0, "eval_released": 0, "batch_kept": 1, "eval_staircase": 1}


def check_gate(name, recording, folder):
    plateau("check", recording, "--junit", folder / "check.xml", code=RUNS[name])
    # A limit on growth says the same: 16 KiB a step is far below what the leaking programs keep.
    plateau("check", recording, "--max-growth", "16KiB/step", code=RUNS[name])
    # A baseline: no run fails against itself, and a leak fails against a healthy run.
    report = folder / "baseline.json"
    plateau("report", recording, "--json", report, "--card")
    plateau("check", recording, "--fail-on", "untraced_growth", "--baseline", report)


def check_card(name, recording, _folder):
    card = plateau("report", recording, "--card").decode()
    lines = card.splitlines()
    # About 25; no advice is cut, so a card may be a little longer.
    assert len(lines) <= 30, f"{len(lines)} lines\n{card}"
    assert max(map(display_width, lines)) <= 80, card
    assert "\x1b" not in card, "colour in a file"
    for section in ("live", "RSS", "Made at", "Recorded"):
        assert section in card, f"no {section}\n{card}"
    # No curve is higher than the peak beside it.
    first, last, peak = re.search(r"live .*?([\d.,]+ \w+) -> ([\d.,]+ \w+), peak ([\d.,]+ \w+)", card).groups()
    assert max(size(first), size(last)) <= size(peak) * 1.001, card


def size(text):
    number, unit = text.replace(",", "").split()
    return float(number) * {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}[unit]


def check_totals(name, recording, folder):
    """One recording, seven outputs, one total."""
    report = report_json(recording)
    totals = {"JSON": sum(s["retained_bytes"] for s in report["sites"]) + sum(r["retained_bytes"] for r in report["totals"]["leftovers"]),
              "JSON totals": report["totals"]["retained_bytes"]}

    plateau("report", recording, "--html", folder / "page.html", "--card")
    page = (folder / "page.html").read_text()
    assert len(page) < 8 << 20, len(page)
    data = json.loads(re.search(r'<script[^>]*id="plateau-data"[^>]*>(.*?)</script>', page, re.S).group(1))
    totals["page"] = sum(s["retained"] for s in data["sites"]) + data["rest"]["retained"] + sum(
        r["retained_bytes"] for r in data["report"]["totals"]["leftovers"])
    totals["page, stacks"] = sum(data["stacks"]["retained"])

    plateau("export", recording, "-f", "sqlite", "-o", folder / "run.sqlite")
    with sqlite3.connect(folder / "run.sqlite") as database:
        totals["SQLite"] = database.execute("SELECT (SELECT sum(retained_bytes) FROM sites) + (SELECT sum(retained_bytes) FROM leftovers)").fetchone()[0]
        totals["SQLite, stacks"] = database.execute("SELECT sum(retained_bytes) FROM stacks").fetchone()[0]

    profile = gzip.decompress(plateau("export", recording, "-f", "pprof"))
    totals["pprof"] = pprof_total(profile, "inuse_space")
    rows = csv.DictReader(io.StringIO(plateau("export", recording, "-f", "csv").decode(errors="replace")))
    totals["CSV"] = sum(int(row["retained_bytes"]) for row in rows)
    plateau("bundle", recording, "-o", folder / "b.tar.zst")
    totals["bundle"] = report_json(folder / "b.tar.zst")["totals"]["retained_bytes"]
    assert len(set(totals.values())) == 1, totals

    # The text shows rounded numbers; its total is the same to what is shown.
    text = plateau("sites", recording, "--top", "100000").decode()
    shown = re.search(r"^Total\s+([\d.,]+ \w+)", text, re.M)
    assert shown and abs(size(shown.group(1)) / totals["JSON"] - 1) < 0.006, (text[-600:], totals)


def pprof_total(profile, name):
    """Sum of one value over all samples, decoded by protoc with the format's own field numbers."""
    text = run("protoc", f"--proto_path={SOURCE}", "--decode=plateau.pprof.Profile", "analyzer/report/export/pprof_profile.proto",
               input=profile, cwd=SOURCE).decode(errors="replace")
    strings = re.findall(r'^string_table: "((?:[^"\\]|\\.)*)"', text, re.M)
    types = [int(number) for number in re.findall(r"^sample_type \{\n  type: (\d+)", text, re.M)]
    column = [strings[number] for number in types].index(name)
    return sum(int(re.findall(r"^  value: (-?\d+)", block, re.M)[column]) for block in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S))


def main():
    failed = 0
    for name in sys.argv[1:] or list(RUNS):
        with tempfile.TemporaryDirectory(prefix="plateau-training-") as place:
            folder = pathlib.Path(place)
            record(folder / "rec", PYTHON, f"{EXAMPLES}/{name}.py")
            failed += failures((check_gate, check_card, check_totals), name, folder / "rec", folder, label=f"{name}: ")
    return failed


if __name__ == "__main__":
    skip_unless(torch=True)
    sys.exit(1 if main() else 0)
