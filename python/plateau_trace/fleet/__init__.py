"""A job of many ranks: maps recordings to tables where they lie, and reduces the tables with SQL.

    plateau fleet RECORDINGS                                      # the command; it runs this package
    python -m plateau_trace.fleet RECORDINGS                      # the same

    from plateau_trace.fleet import columns, reduce
    columns.write(["rec-0", "rec-1"], "tables")                   # or plateau_trace.fleet.ray.write, .spark.write
    odd = reduce.results_of_duckdb("tables")["odd_ranks"]

Needs DuckDB (`pip install "plateau-trace[fleet]"`) for the reduction on one machine; Ray and Spark bring their own workers.
"""
