"""`plateau fleet`: one verdict for a job of many ranks. The command of the analyzer starts this module."""
import argparse
import json
import os
import sys
import tempfile

from plateau_trace.fleet import columns, job_report, page, recordings, reduce, rules, text

# Exit codes of `plateau`: docs/cli.md.
OK, RULE_FAILED, WRONG_USAGE, NO_INPUT, IO_ERROR = 0, 1, 2, 3, 5


def _arguments(words):
    parser = argparse.ArgumentParser(prog="plateau fleet", description=__doc__.split(".")[0])
    parser.add_argument("paths", nargs="+", metavar="DIR|GLOB")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--html", metavar="FILE")
    parser.add_argument("--columns", metavar="DIR")
    parser.add_argument("--job", metavar="NAME")
    parser.add_argument("--jobs", type=int, metavar="N")
    parser.add_argument("--top", type=int, default=8, metavar="N")
    parser.add_argument("--rule", action="append", default=[], metavar="RULE")
    parser.add_argument("--rules", metavar="FILE")
    return parser.parse_args(words)


def _write(path, content):
    if path == "-":
        sys.stdout.write(content)
        return
    temporary = path + ".tmp%d" % os.getpid()
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
    os.replace(temporary, path)


def _results(arguments):
    tables = [path for path in arguments.paths if recordings.is_tables(path)]
    if tables and len(arguments.paths) == 1:
        return reduce.results_of_duckdb(tables[0])
    found = recordings.find(arguments.paths)
    with tempfile.TemporaryDirectory(prefix="plateau-fleet-") as temporary:
        folder = arguments.columns or temporary
        columns.write(found, folder, arguments.job, arguments.jobs, columns.show_progress)
        return reduce.results_of_duckdb(folder)


def main(words=None):
    arguments = _arguments(words)
    try:
        wanted = rules.parse("\n".join(arguments.rule))
        if arguments.rules:
            with open(arguments.rules) as file:
                wanted += rules.parse(file.read())
        report = job_report.jobs_of(_results(arguments))
        broken = rules.check(wanted, report)
        report["broken_rules"] = broken
        if arguments.json:
            _write(arguments.json, json.dumps(report, indent=1) + "\n")
        if arguments.html:
            _write(arguments.html, page.write(report))
        if arguments.json != "-":
            sys.stdout.write(text.write(report, max(1, arguments.top)))
    except rules.RuleError as error:
        return _say(error, WRONG_USAGE)
    except recordings.NoRecordings as error:
        return _say(error, NO_INPUT)
    except (reduce.NoDuckDB, columns.MapError, OSError) as error:
        return _say(error, IO_ERROR)
    for sentence in broken:
        print("plateau fleet: broken rule: " + sentence, file=sys.stderr)
    return RULE_FAILED if broken else OK


def _say(error, code):
    print("plateau fleet: %s" % error, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
