"""tools/bench fleet SNAPSHOT: a snapshot exported, its dataset copied as many clusters, and the questions of examples/fleet asked of one and of all of them by DuckDB, as a Markdown table."""

import argparse
import os
import re
import shutil
import tempfile

from measure import Ketcd, run
from results import figures, keep

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/fleet/README.md")
# Runs the statements of its arguments and fetches the last one's rows.
PROGRAM = """
import sys
import duckdb

connection = duckdb.connect()
for statement in sys.argv[1:]:
    result = connection.execute(statement)
result.fetchall()
"""


def questions():
    """The page's statements: those that prepare, and by its heading each question's."""
    prepared, asked, heading = [], {}, None
    with open(PAGE) as page:
        blocks = re.finditer(r"^### (?P<heading>.*)$|^```sql(?P<kind>.*)\n(?P<sql>(?:.*\n)*?)```$", page.read(), re.MULTILINE)
    for block in blocks:
        if block["heading"]:
            heading = block["heading"]
        elif block["kind"]:
            prepared.append(block["sql"])
        else:
            asked[heading] = block["sql"]
    return prepared, asked


def below(dataset, clusters, statement):
    """The statement that makes the views, of the dataset's partitions of some clusters."""
    return statement.replace("'fleet/", f"'{dataset}/").replace("/*/*/*.parquet", f"/cluster={clusters}/*/*.parquet")


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench fleet", description=__doc__)
    parser.add_argument("snapshot")
    parser.add_argument("--ketcd", required=True, help="the build that exports, with the feature parquet")
    parser.add_argument("--python", required=True, help="a Python that has DuckDB")
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--memory", default="4GB", help="what DuckDB may take (default 4GB)")
    parser.add_argument("--directory", help="where the dataset is put for a while")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ketcd-bench.", dir=args.directory) as work:
        dataset = f"{work}/fleet"
        exported = Ketcd(args.ketcd, f"{work}/cache").run(["-f", args.snapshot, "export", "--format", "parquet", "--out", dataset, "--cluster", "c0"])
        print(f"export of one cluster, {size(dataset) / 1e6:.0f} MB: {exported.cell()}", flush=True)
        for table in os.listdir(dataset):
            for number in range(1, args.clusters):
                # What a partition is called is its rows' cluster to a reader.
                shutil.copytree(f"{dataset}/{table}/cluster=c0", f"{dataset}/{table}/cluster=c{number}")
        prepared, asked = questions()
        setting = [f"SET memory_limit = '{args.memory}'", f"SET temp_directory = '{work}/spilled'", "SET TimeZone = 'UTC'"]
        print(f"\n| question of `examples/fleet` | 1 cluster | {args.clusters} clusters |\n|---|---|---|")
        for heading, question in asked.items():
            cells = []
            for clusters in ("c0", "*"):
                views = [below(dataset, clusters, statement) for statement in prepared]
                taken = run([args.python, "-c", PROGRAM, *setting, *views, question])
                keep("fleet", question=heading, clusters=1 if clusters == "c0" else args.clusters, **figures(taken))
                cells.append(taken.cell())
            print(f"| {heading} | {cells[0]} | {cells[1]} |", flush=True)


def size(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)
