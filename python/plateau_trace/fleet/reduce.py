"""Reduces the tables of a job with the SQL of this package, which gives the same rows on DuckDB and on Spark."""
import os
import re
import tempfile

TABLES = ("jobs", "ranks", "sites", "series", "ledger", "stacks", "frames", "verdicts", "holders")
# Columns that tables written by an older version do not have, with what stands for them.
ADDED_COLUMNS = {"jobs": {"code_version": "''"}}
# Views in the order in which they build on each other; each is a file of the same name.
VIEWS = ("verdict_kinds", "last_ranks", "job_summary", "verdict_shares", "rank_sites", "odd_growth", "odd_sizes", "odd_endings", "odd_ranks",
         "odd_hosts", "odd_groups", "first_limit", "top_sites", "unsound", "history")
# What many views build on is computed once.
SHARED = ("last_ranks", "rank_sites", "odd_growth", "odd_sizes", "odd_ranks")
# What a report is made of.
RESULTS = ("job_summary", "verdict_shares", "odd_ranks", "odd_hosts", "odd_groups", "first_limit", "top_sites", "unsound", "history")


class NoDuckDB(Exception):
    """DuckDB is not installed; the text says how to get it."""


def sql(name):
    with open(os.path.join(os.path.dirname(__file__), "sql", name + ".sql")) as file:
        return file.read()


def missing_columns(table, known):
    """["'' AS code_version"]: what to select beside the columns of tables that an older version wrote."""
    return ["%s AS %s" % (value, name) for name, value in ADDED_COLUMNS.get(table, {}).items() if name not in known]


def order_of(query):
    """The columns that the query itself orders its rows by, at its end."""
    found = re.search(r"\nORDER BY ([\w ,]+)\s*$", query)
    return found.group(1) if found else ""


def duckdb_connection(folder, spill, threads=None, memory_limit="800MB"):
    """A connection of DuckDB with the tables of a folder and the views on them. What does not fit into memory goes to the folder `spill`."""
    try:
        import duckdb
    except ImportError:
        raise NoDuckDB('plateau fleet reduces tables with DuckDB, which is not installed: pip install "plateau-trace[fleet]"')
    database = duckdb.connect(config={"memory_limit": memory_limit, "temp_directory": spill, **({"threads": threads} if threads else {})})
    database.execute("SET enable_progress_bar = false")  # it would be written between the lines of our own output
    for table in TABLES:
        files = os.path.join(folder, table, "**", "*.parquet").replace("'", "''")
        # Job and node stay texts, also where they look like numbers.
        source = "read_parquet('%s', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)" % files
        known = [row[0] for row in database.execute("DESCRIBE SELECT * FROM %s" % source).fetchall()]
        database.execute("CREATE VIEW %s AS SELECT %s FROM %s" % (table, ", ".join(["*"] + missing_columns(table, known)), source))
    for view in VIEWS:
        kind = "TEMP TABLE" if view in SHARED else "VIEW"
        database.execute("CREATE %s %s AS %s" % (kind, view, sql(view)))
    return database


def plain(value):
    """A value as JSON has it: sums are integers of any size, counts are whole."""
    return int(value) if hasattr(value, "as_tuple") else value


def rows_of(names, rows):
    return [{name: plain(value) for name, value in zip(names, row)} for row in rows]


def results_of_duckdb(folder, **options):
    """{name of the result: [row as a dictionary]}."""
    results = {}
    with tempfile.TemporaryDirectory(prefix="plateau-fleet-") as spill, duckdb_connection(folder, spill, **options) as database:
        for name in RESULTS:
            query = "SELECT * FROM %s" % name
            order = order_of(sql(name))
            done = database.execute(query + (" ORDER BY " + order if order else ""))
            results[name] = rows_of([column[0] for column in done.description], done.fetchall())
    return results
