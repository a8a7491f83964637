"""export, diff, check, bundle, watch and completion as a user runs them, on reports of simulated runs."""
import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from plateau_cli import BUILD, failures, plateau, run


def check_exit_codes(folder):
    for name, code in (("steady", 0), ("warmup", 0), ("cache_fill", 0), ("inconclusive", 0), ("leak", 1)):
        plateau("check", f"{folder}/{name}.json", code=code)
    plateau("check", f"{folder}/leak.json", "--max-growth", "nonsense", code=2)
    plateau("check", f"{folder}/missing.json", code=3)
    plateau("export", f"{folder}/leak.json", "--format", "telepathy", code=2)


def check_junit(folder):
    plateau("check", f"{folder}/leak.json", "--fail-on", "leak", "--min-steps", "10", "--junit", f"{folder}/check.xml",
            "--markdown", f"{folder}/check.md", code=1)
    root = ElementTree.parse(f"{folder}/check.xml").getroot()
    assert root.tag == "testsuites", root.tag
    suite = root.find("testsuite")
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) == 2
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 1
    assert all(case.get("name") and case.get("classname") for case in cases)
    assert "**failed**" in pathlib.Path(folder, "check.md").read_text()


def check_rules_and_suppressions(folder):
    pathlib.Path(folder, "rules.txt").write_text("# our gate\nfail-on leak\nmax-peak 1TiB\n")
    pathlib.Path(folder, "known.txt").write_text("leak:nll_loss_forward\n")
    plateau("check", f"{folder}/leak.json", "--rules", f"{folder}/rules.txt", code=1)
    plateau("check", f"{folder}/leak.json", "--max-growth", "64KiB/step", "--suppressions", f"{folder}/known.txt")
    plateau("check", f"{folder}/leak.json", "--baseline", f"{folder}/steady.json", code=1)
    plateau("check", f"{folder}/steady.json", "--baseline", f"{folder}/steady.json")


def check_diff(folder):
    text = plateau("diff", f"{folder}/steady.json", f"{folder}/leak.json").decode()
    assert "STEADY -> LEAK" in text and "train.py:57" in text, text
    data = json.loads(plateau("diff", f"{folder}/steady.json", f"{folder}/leak.json", "--json", "-"))
    change = sum(row["retained_change"] for row in data["sites"] + data["leftovers"])
    assert change == data["totals"]["after"]["retained_bytes"] - data["totals"]["before"]["retained_bytes"]


def check_export(folder):
    assert plateau("export", f"{folder}/full.json", "-f", "pprof")[:2] == b"\x1f\x8b"
    assert b"train_step" in plateau("export", f"{folder}/full.json", "-f", "folded", "--metric", "growth")
    plateau("export", f"{folder}/full.json", "-f", "sqlite", "-o", f"{folder}/run.sqlite")
    assert pathlib.Path(folder, "run.sqlite").read_bytes()[:15] == b"SQLite format 3"
    plateau("export", f"{folder}/full.json", "-f", "sqlite", code=2)


def check_bundle(folder):
    text = plateau("bundle", f"{folder}/full.json", "-o", f"{folder}/b.tar.zst").decode()
    assert text.startswith("### Plateau: LEAK"), text[:100]
    before = json.loads(plateau("report", f"{folder}/full.json", "--json", "-"))
    after = json.loads(plateau("report", f"{folder}/b.tar.zst", "--json", "-"))
    assert before["totals"] == after["totals"] and before["sites"] == after["sites"]
    plateau("bundle", f"{folder}/full.json", "--anonymize", "-o", f"{folder}/a.tar.zst")
    text = run("zstd", "-dc", f"{folder}/a.tar.zst")
    for secret in (b"gpu-box-7", b"train.py", b"history.append", b"build_model"):
        assert secret not in text, secret
    plateau("report", f"{folder}/a.tar.zst")


def check_watch_and_completion(folder):
    assert b"LEAK" in plateau("watch", f"{folder}/leak.json", "--once")
    assert b"complete -o filenames" in plateau("completion", "bash")
    assert plateau("completion", "man").startswith(b".TH PLATEAU")
    plateau("completion", "tcsh", code=2)


def check_files_are_private(folder):
    """Every file a command writes is 0600 whatever the umask; a link in its place is replaced, not followed."""
    out = pathlib.Path(folder, "private")
    out.mkdir()
    source, precious = f"{folder}/full.json", pathlib.Path(folder, "precious")
    precious.write_text("precious")
    writers = {"r.html": ("report", source, "--html"), "r.json": ("report", source, "--json"), "c.json": ("check", source, "--json"),
               "c.xml": ("check", source, "--junit"), "c.md": ("check", source, "--markdown"), "d.json": ("diff", source, source, "--json"),
               "b.tar.zst": ("bundle", source, "-o"), "e.sqlite": ("export", source, "-f", "sqlite", "-o"),
               "e.pb.gz": ("export", source, "-f", "pprof", "-o"), "e.csv": ("export", source, "-f", "csv", "-o")}
    for name, command in writers.items():
        path = out / name
        for existing in (None, "link"):
            if existing:
                path.unlink()
                path.symlink_to(precious)
            plateau(*command, str(path), code=1 if command[0] == "check" else 0, umask=0)
            assert path.is_file() and not path.is_symlink(), f"{name}: still a link"
            assert path.stat().st_mode & 0o777 == 0o600, f"{name}: {oct(path.stat().st_mode)}"
        assert precious.read_text() == "precious", name
    assert sorted(p.name for p in out.iterdir()) == sorted(writers), "something was left behind"
    listing = run("tar", "--zstd", "-tvf", out / "b.tar.zst", text=True)
    assert all(line.startswith("-rw-------") for line in listing.splitlines()), listing


def main():
    with tempfile.TemporaryDirectory(prefix="plateau-commands-") as folder:
        run(BUILD / "tests/write_report_fixtures", folder)
        run(BUILD / "tests/write_export_fixtures", folder)
        return failures((check_exit_codes, check_junit, check_rules_and_suppressions, check_diff, check_export, check_bundle,
                         check_watch_and_completion, check_files_are_private), folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
