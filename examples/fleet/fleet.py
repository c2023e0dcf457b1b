"""fleet.py LIST DATASET [KETCD]: exports the snapshots of a list on Spark's executors into one dataset.

LIST has a line for each snapshot: the cluster's name and a path or a URL (s3://…), the oldest of a cluster first. The snapshots of a cluster are exported one
after another, since each adds what is newer than the last; clusters side by side. KETCD is the binary on the executors; without it, `ketcd` among the job's
files (spark-submit --files ketcd) or on the PATH.
"""

import json
import os
import subprocess
import sys
from itertools import groupby

from pyspark import SparkFiles
from pyspark.sql import SparkSession


def snapshots_by_cluster(lines):
    """The list's snapshots: [(cluster, [path, …]), …]."""
    entries = [line.split(None, 1) for line in map(str.strip, lines) if line and not line.startswith("#")]
    by_cluster = groupby(sorted(entries, key=lambda entry: entry[0]), key=lambda entry: entry[0])
    return [(cluster, [path for _, path in entries]) for cluster, entries in by_cluster]


def binary(given):
    """The ketcd of an executor."""
    shipped = SparkFiles.get("ketcd")
    if given:
        return given
    if os.path.exists(shipped):
        os.chmod(shipped, 0o755)
        return shipped
    return "ketcd"


def export(cluster, paths, dataset, given):
    """Exports one cluster's snapshots in their order. Returns a row for each table and snapshot."""
    rows = []
    for path in paths:
        command = [binary(given), "-f", path, "export", "--format", "parquet", "--out", dataset, "--cluster", cluster, "-o", "json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if not ended.stdout:
            raise RuntimeError(f"{cluster}: {path}: {ended.stderr.strip()}")
        for table in json.loads(ended.stdout)["tables"]:
            written = table["files"]
            rows.append((cluster, path, table["table"], sum(file["rows"] for file in written), sum(file["bytes"] for file in written)))
    return rows


def main(snapshots, dataset, ketcd=""):
    spark = SparkSession.builder.appName("ketcd export").getOrCreate()
    with open(snapshots, encoding="utf-8") as lines:
        clusters = snapshots_by_cluster(lines)
    tasks = spark.sparkContext.parallelize(clusters, max(len(clusters), 1))
    written = tasks.flatMap(lambda task: export(task[0], task[1], dataset, ketcd))
    columns = "cluster string, snapshot string, table string, rows long, bytes long"
    spark.createDataFrame(written, columns).groupBy("table").sum("rows", "bytes").orderBy("table").show(truncate=False)
    # Hadoop's name for S3.
    read = dataset.replace("s3://", "s3a://", 1)
    spark.read.parquet(f"{read}/table=history").groupBy("cluster", "day").count().orderBy("cluster", "day").show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
