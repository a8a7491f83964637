"""Maps recordings with Spark and reduces their tables with Spark SQL: for recordings on a store that Spark reads (HDFS, S3, a shared disk).

    from plateau_trace.fleet import spark as fleet_spark
    fleet_spark.write(spark, "s3a://bucket/plateau/*", "tables")   # traces are read as binaryFile, in any store
    fleet_spark.results(spark, "tables")["odd_ranks"]              # the same rows as DuckDB gives

The workers need this package with its `plateau` (the wheel has it), pandas and pyarrow. Each recording is one task: Spark runs a task that was lost
again, and work that is done twice gives the same files.
"""
import os
import tempfile

from plateau_trace.fleet import columns, reduce

SCHEMA = "path string, content binary"


def _map_recordings(job):
    """For mapInPandas: files of one recording after the other in, files of tables out."""
    def run(batches):
        import pandas

        with tempfile.TemporaryDirectory(prefix="plateau-fleet-") as folder:
            recordings = {}
            for batch in batches:
                for directory, name, content in zip(batch["directory"], batch["name"], batch["content"]):
                    # Recordings of one name from different folders stay apart; the name becomes the job when nobody says one.
                    place = recordings.setdefault(directory, os.path.join(folder, str(len(recordings)), os.path.basename(directory) or "recording"))
                    os.makedirs(place, exist_ok=True)
                    with open(os.path.join(place, os.path.basename(name)), "wb") as file:
                        file.write(content)
            for place in recordings.values():
                files = columns.read_one(place, job)
                yield pandas.DataFrame({"path": [path for path, _ in files], "content": [content for _, content in files]})
    return run


def _by_recording(spark, pattern, partitions):
    from pyspark.sql import functions as f

    files = (spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(pattern)
             .where(f.col("path").endswith(".plt") | f.col("path").endswith("/ending.txt")))
    files = files.withColumn("directory", f.regexp_extract("path", r"^(.*)/[^/]*$", 1)).withColumn("name", f.regexp_extract("path", r"([^/]*)$", 1))
    return files.select("directory", "name", "content").repartition(partitions, "directory").sortWithinPartitions("directory")


def write(spark, pattern, folder, job=None, partitions=None):
    """Writes the tables of all recordings that the pattern matches. Returns how many recordings there were."""
    partitions = partitions or max(2, 2 * spark.sparkContext.defaultParallelism)
    tables = _by_recording(spark, pattern, partitions).mapInPandas(_map_recordings(job), SCHEMA)
    recordings = 0
    for row in tables.toLocalIterator():
        recordings += row["path"].startswith("jobs/")
        columns.save([(row["path"], bytes(row["content"]))], folder)
    return recordings


def results(spark, folder):
    """{name of the result: [row as a dictionary]}: the SQL of the package on Spark."""
    before = spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled")
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        for table in reduce.TABLES:
            # Tables of several versions may lie side by side.
            data = spark.read.option("mergeSchema", table in reduce.ADDED_COLUMNS).parquet(os.path.join(folder, table))
            data.selectExpr("*", *reduce.missing_columns(table, data.columns)).createOrReplaceTempView(table)
    finally:
        spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", before)
    for view in reduce.VIEWS:
        data = spark.sql(reduce.sql(view))
        if view in reduce.SHARED:
            data = data.cache()
        data.createOrReplaceTempView(view)
    found = {}
    for name in reduce.RESULTS:
        order = reduce.order_of(reduce.sql(name))
        data = spark.sql("SELECT * FROM %s%s" % (name, " ORDER BY " + order if order else ""))
        found[name] = reduce.rows_of(data.columns, [tuple(row) for row in data.collect()])
    return found
