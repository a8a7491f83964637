"""Exports read by the programs they are made for: pprof, sqlite3, protoc, csv, and the schemas of speedscope and of our JSON.

A reader that is not installed is named and skipped.
"""
import csv
import json
import os
import pathlib
import shutil
import sys
import tempfile

from plateau_cli import BUILD, SOURCE, failures, run


def check_pprof(folder, total):
    if not shutil.which("go"):
        return "skipped: no go, whose distribution carries pprof"
    environment = dict(os.environ, HOME=folder, GOCACHE=str(BUILD / "tests/go-cache"), GOFLAGS="-mod=mod", GOTOOLCHAIN="local")
    try:
        text = run("go", "tool", "pprof", "-raw", os.path.join(folder, "export.pb.gz"), env=environment, text=True)
    except AssertionError as error:
        if "no such tool" in str(error):
            return "skipped: this go has no pprof"
        raise
    lines = text.splitlines()
    types = lines[lines.index("Samples:") + 1].split()
    column = next(i for i, name in enumerate(types) if name.startswith("inuse_space/bytes"))
    found = 0
    for line in lines[lines.index("Samples:") + 2:lines.index("Locations")]:
        head = line.split(":")[0].split()
        if ":" in line and len(head) == len(types) and all(x.lstrip("-").isdigit() for x in head):
            found += int(head[column])
    assert found == total, f"pprof adds up to {found}, the report to {total}"
    top = run("go", "tool", "pprof", "-top", "-cum", "-sample_index=inuse_space", os.path.join(folder, "export.pb.gz"), env=environment, text=True)
    assert "train_step" in top, top
    return "ok"


def check_sqlite(folder, total):
    if not shutil.which("sqlite3"):
        return "skipped: no sqlite3"
    database = os.path.join(folder, "export.sqlite")
    assert run("sqlite3", database, "PRAGMA integrity_check").strip() == b"ok"
    found = run("sqlite3", database, "SELECT (SELECT sum(retained_bytes) FROM sites) + (SELECT sum(retained_bytes) FROM leftovers)")
    assert int(found) == total, found
    worst = run("sqlite3", database, "SELECT verdict FROM sites ORDER BY growth_bytes_per_step DESC LIMIT 1").strip()
    assert worst == b"leak", worst
    deep = run("sqlite3", database, """WITH RECURSIVE up(id, depth) AS (SELECT id, 1 FROM stacks WHERE parent_id IS NULL
        UNION ALL SELECT stacks.id, depth + 1 FROM stacks JOIN up ON stacks.parent_id = up.id) SELECT max(depth) FROM up""")
    assert int(deep) >= 5, deep
    return "ok"


def check_csv(folder, total):
    with open(os.path.join(folder, "export.csv"), newline="", errors="replace") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["retained_bytes"]) for row in rows) == total
    assert any(row["site"] == "<script>alert(1)</script>" for row in rows)
    return "ok"


def check_folded(folder, _total):
    lines = pathlib.Path(folder, "export.folded").read_text().splitlines()
    assert lines and all(line.rsplit(" ", 1)[1].isdigit() for line in lines)
    return "ok"


def check_perfetto(folder, _total):
    if not shutil.which("protoc"):
        return "skipped: no protoc"
    with open(os.path.join(folder, "export.perfetto-trace"), "rb") as file:
        text = run("protoc", f"--proto_path={SOURCE}", "--decode=plateau.track_trace.Trace", "analyzer/report/export/track_trace.proto",
                   stdin=file, text=True, cwd=SOURCE)
    assert "TYPE_COUNTER" in text and "TYPE_SLICE_BEGIN" in text and "UNIT_SIZE_BYTES" in text
    return "ok"


def schema_validator():
    try:
        import jsonschema
    except ImportError:
        return None
    return jsonschema


def check_speedscope(folder, _total):
    jsonschema = schema_validator()
    if jsonschema is None:
        return "skipped: no python3-jsonschema"
    found = list(BUILD.glob("analyzer/report/page/web/work/node_modules/speedscope/dist/release/file-format-schema.json"))
    if not found:
        return "skipped: speedscope's schema is not installed"
    jsonschema.validate(json.loads(pathlib.Path(folder, "export.speedscope.json").read_text()), json.loads(found[0].read_text()))
    return "ok"


def check_report_schema(folder, _total):
    jsonschema = schema_validator()
    if jsonschema is None:
        return "skipped: no python3-jsonschema"
    schema = json.loads((SOURCE / "docs/report.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    count = 0
    for path in pathlib.Path(folder).glob("*.json"):
        if path.name.startswith("export"):
            continue
        report = json.loads(path.read_text())
        jsonschema.validate(report, schema)
        count += 1
        # The schema can fail: a report without its verdict, or with a verdict nobody knows, is refused.
        for broken in ({**report, "verdict": "fine, probably"}, {k: v for k, v in report.items() if k != "totals"}):
            try:
                jsonschema.validate(broken, schema)
            except jsonschema.ValidationError:
                continue
            raise AssertionError("a broken report passed the schema")
    assert count >= 6, count
    return "ok"


def main():
    with tempfile.TemporaryDirectory(prefix="plateau-exports-") as folder:
        run(BUILD / "tests/write_export_fixtures", folder)
        total = json.loads(pathlib.Path(folder, "hostile.json").read_text())["totals"]["retained_bytes"]
        return failures((check_pprof, check_sqlite, check_csv, check_folded, check_perfetto, check_speedscope, check_report_schema), folder,
                        total)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
