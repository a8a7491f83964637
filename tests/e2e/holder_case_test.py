"""The case of docs/holders.md from start to end: a callback that keeps batches, its card, its fix, the card after the fix.

Every output names the same holder: card, JSON, text, page, SQLite, CSV, diff, check, and an anonymised bundle names none.
"""
import csv
import io
import json
import os
import pathlib
import re
import sqlite3
import sys
import tempfile

from plateau_cli import EXAMPLES, PYTHON, SOURCE, display_width, failures, plateau, record, report_json, run, skip_unless

PROGRAM = pathlib.Path(EXAMPLES, "callback_keeps_batches.py")
# main() and train() both hold the trainer, under their own names.
TRAINER = r"(trainer|self)"
CONTAINER = "callback_handler.callbacks[1].seen"
PATH = CONTAINER + "[*]['pixel_values']"


def site_of(report):
    return next(s for s in report["sites"] if s["function"] == "collate" and s["held_by"])


def check_json(leak, _fixed, _folder):
    report = report_json(leak)
    assert report["verdict"] in ("leak", "slow_leak"), report["verdict"]
    path = site_of(report)["held_by"][0]
    assert re.fullmatch(TRAINER + re.escape("." + PATH), path["text"]), path
    assert re.fullmatch(TRAINER + re.escape("." + CONTAINER), path["container"]), path
    assert path["share"] > 0.9 and path["container_type"] == "list", path
    assert 0.9 < path["items_per_step"] < 1.1, path
    assert [round(r["items"] / r["step"], 1) for r in path["lengths"]] == [1.0] * len(path["lengths"]), path["lengths"]
    assert len(path["lengths"]) >= 3 and "bound" in path and path["bound"] is None, path
    assert path["root"].startswith("a local of ") and "callback_keeps_batches.py" in path["root"], path["root"]
    assert "".join(link["text"] for link in path["links"]) == path["text"], path["links"]
    assert any(p["id"] == "K33" for p in report["patterns"]), [p["id"] for p in report["patterns"]]
    assert report["holders"]["walks"] >= 3 and report["holders"]["damaged"] == 0, report["holders"]


def check_card(leak, _fixed, _folder):
    card = plateau("report", leak, "--card").decode()
    lines = card.splitlines()
    assert max(map(display_width, lines)) <= 80, card
    held = next(i for i, line in enumerate(lines) if line.startswith("Held by"))
    made = next(i for i, line in enumerate(lines) if line.startswith("Made at"))
    curve = next(i for i, line in enumerate(lines) if line.startswith("live"))
    assert held < curve < made, card
    text = " ".join(line.strip() for line in lines[held:curve])
    assert PATH in text and "a local of " in text, card
    assert "(K33)" in card, card


def check_fix(_leak, fixed, _folder):
    report = report_json(fixed)
    assert report["verdict"] not in ("leak", "slow_leak", "unbounded_growth"), report["verdict"]
    for site in report["sites"]:
        for path in site["held_by"]:
            assert not path["container"].endswith(CONTAINER) or site["retained_bytes"] < 1 << 20, (site["site"], path)
    assert CONTAINER not in plateau("report", fixed, "--card").decode()


def check_text(leak, _fixed, _folder):
    text = plateau("report", leak).decode()
    section = text[text.index("\nHeld by\n"):]
    assert PATH in " ".join(section.split()), section[:600]


def check_gate(leak, fixed, _folder):
    rule = f"held-by:*{CONTAINER}*=1MiB"
    failed = plateau("check", leak, "--budget", rule, code=1).decode()
    assert CONTAINER in failed, failed
    plateau("check", fixed, "--budget", rule)


def check_diff(leak, fixed, _folder):
    assert PATH in plateau("diff", fixed, leak).decode()


def check_tables(leak, _fixed, folder):
    report = report_json(leak)
    paths = sum(len(site["held_by"]) for site in report["sites"])
    rows = list(csv.DictReader(io.StringIO(plateau("export", leak, "-f", "csv", "--table", "holders").decode())))
    assert len(rows) == paths and any(row["path"].endswith(PATH) for row in rows), rows
    database = folder / "leak.sqlite"
    plateau("export", leak, "-f", "sqlite", "-o", database)
    with sqlite3.connect(database) as db:
        assert db.execute("SELECT count(*) FROM holders").fetchone()[0] == paths
        lengths = db.execute("SELECT l.items FROM holder_lengths l JOIN holders h ON h.id = l.holder_id WHERE h.path LIKE ? ORDER BY l.step",
                             ("%" + PATH,)).fetchall()
        assert len(lengths) >= 3 and lengths == sorted(lengths), lengths


def check_page(leak, _fixed, folder):
    plateau("report", leak, "--html", folder / "page.html", "--card")
    page = (folder / "page.html").read_text()
    data = json.loads(re.search(r'<script[^>]*id="plateau-data"[^>]*>(.*?)</script>', page, re.S).group(1))
    texts = [path["text"] for site in data["sites"] for path in site.get("held_by", [])]
    assert any(text.endswith(PATH) for text in texts), texts


def check_bundle(leak, _fixed, folder):
    for anonymize in (False, True):
        bundle = folder / "bundle.tar.zst"
        plateau("bundle", leak, "-o", bundle, *(["--anonymize"] if anonymize else []))
        text = run("tar", "--zstd", "-xOf", bundle).decode(errors="replace")
        for secret in ("pixel_values", "callback_handler", CONTAINER):
            assert (secret in text) != anonymize, (secret, anonymize)


def check_documented(leak, _fixed, _folder):
    """The page shows the path, the container and the pattern that a run gives."""
    page = (SOURCE / "docs/holders.md").read_text()
    shown = " ".join(page.split())
    assert PATH in shown and "callback_keeps_batches.py" in shown, "docs/holders.md"
    assert "(K33)" in shown, "docs/holders.md"


def main():
    skip_unless(torch=True)
    with tempfile.TemporaryDirectory(prefix="plateau-holders-") as folder:
        folder = pathlib.Path(folder)
        leak, fixed = folder / "leak", folder / "fixed"
        package = dict(os.environ, PYTHONPATH=str(SOURCE / "python"), PYTHONDONTWRITEBYTECODE="1")
        record(leak, PYTHON, PROGRAM, env=package)
        record(fixed, PYTHON, PROGRAM, "--fixed", env=package)
        return failures((check_json, check_card, check_fix, check_text, check_gate, check_diff, check_tables, check_page, check_bundle,
                         check_documented), leak, fixed, folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
