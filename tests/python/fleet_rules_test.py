"""What `plateau fleet` makes of rows: words, rules, paths that may be written, recordings that are found."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["PLATEAU_SOURCE"], "python"))
from plateau_trace.fleet import columns, job_report, page, recordings, rules, text  # noqa: E402

EMPTY = dict.fromkeys(("job_summary", "verdict_shares", "odd_ranks", "odd_hosts", "odd_groups", "first_limit", "top_sites", "unsound", "history"), [])


def job(name="a", ranks=8, world=8, verdict="steady", odd=(), unsound=()):
    return dict(EMPTY, job_summary=[dict(job=name, ranks=ranks, world=world, nodes=1, earlier_attempts=0, killed_ranks=0, steps=100, started_utc="2026-01-01T00:00:00Z")],
                verdict_shares=[dict(job=name, verdict=verdict, ranks=ranks, percent=100.0)], odd_ranks=list(odd), unsound=list(unsound))


def odd(rank, kind="grows", value=65536.0, middle=0.0, site="data.py:57 in <b>collate</b>"):
    return dict(job="a", rank=rank, node="host", kind=kind, site_key="k", site=site, pool="host", value=value, middle=middle, ranks=8, nth=1)


class JobReportTest(unittest.TestCase):
    def test_a_steady_job_with_ranks_that_nobody_saw_is_not_cleared(self):
        report = job_report.jobs_of(job(unsound=[dict(job="a", node="", rank=None, what="4", status="missing", reason="no recording")], world=12))
        self.assertEqual(report["jobs"][0]["verdict"], "inconclusive")
        self.assertEqual(report["jobs"][0]["ranks_missing"], 4)
        self.assertEqual(job_report.jobs_of(job())["jobs"][0]["verdict"], "steady")

    def test_an_odd_rank_is_named_with_site_and_rate(self):
        (entry,) = job_report.jobs_of(job(verdict="leak", odd=[odd(3)]))["jobs"]
        self.assertEqual(entry["odd"], ["rank 3 grows by 64.0 KiB/step at data.py:57 in <b>collate</b>; the other 7 do not grow there"])
        (entry,) = job_report.jobs_of(job(verdict="leak", odd=[odd(5), odd(3)]))["jobs"]
        self.assertTrue(entry["odd"][0].startswith("ranks 3 and 5 grow by"))
        (entry,) = job_report.jobs_of(job(odd=[odd(2, "was killed", 60.0, 120.0, "")]))["jobs"]
        self.assertEqual(entry["odd"], ["rank 2 was killed after 60 steps; the median rank made 120"])

    def test_recordings_without_a_rank_are_a_job_too(self):
        report = job_report.jobs_of(dict(EMPTY, unsound=[dict(job="lost", node="", rank=None, what="/x", status="newer", reason="newer")]))
        self.assertEqual([entry["job"] for entry in report["jobs"]], ["lost"])

    def test_names_are_escaped_on_the_page_and_cleaned_in_text(self):
        report = job_report.jobs_of(job(verdict="leak", odd=[odd(3, site="x\x1b[31m</script>")]))
        report["broken_rules"] = []
        html = page.write(report)
        self.assertNotIn("<b>", html)
        self.assertEqual(html.count("</script>"), 1)
        self.assertNotIn("\x1b", text.write(report))


class RulesTest(unittest.TestCase):
    def test_rules_are_broken_by_name(self):
        report = job_report.jobs_of(job(verdict="slow_leak", odd=[odd(3)]))
        check = lambda line: rules.check(rules.parse(line), report)  # noqa: E731
        self.assertEqual(len(check("fail-on leak")), 1)
        self.assertEqual(len(check("fail-on slow_leak")), 1)
        self.assertEqual(check("fail-on staircase"), [])
        self.assertEqual(len(check("max-odd-ranks 0\nmax-odd-ranks 1 # enough")), 1)
        self.assertEqual(len(check("min-ranks 9")), 1)
        self.assertEqual(check("max-share leak 100%"), [])

    def test_what_is_no_rule_is_said(self):
        for line in ("be-nice 1", "fail-on", "max-odd-ranks x", "max-share leak", "max-growth fast"):
            with self.assertRaises(rules.RuleError):
                rules.check(rules.parse(line), dict(job_report.jobs_of(job())))


class FilesTest(unittest.TestCase):
    def test_tables_stay_below_their_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            columns.save([("jobs/job=a/node=b/k.parquet", b"PAR1")], folder)
            self.assertTrue(os.path.exists(os.path.join(folder, "jobs/job=a/node=b/k.parquet")))
            for path in ("../x", "/tmp/x", "jobs/../../x"):
                with self.assertRaises(columns.MapError):
                    columns.save([(path, b"")], folder)

    def test_recordings_are_folders_with_traces(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a/rec/x.plt", "b/notes.txt", "c/ending.txt", "a/rec/inner/y.plt"):
                os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
                open(os.path.join(folder, name), "w").close()
            found = recordings.find([folder])
            self.assertEqual(found, [os.path.join(folder, "a/rec"), os.path.join(folder, "c")])
            self.assertEqual(recordings.find([os.path.join(folder, "*")]), found)
            with self.assertRaises(recordings.NoRecordings):
                recordings.find([os.path.join(folder, "b")])


if __name__ == "__main__":
    unittest.main()
