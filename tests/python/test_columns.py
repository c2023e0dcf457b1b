"""Rows as columns of Arrow: by each reader the same values as by iteration, in types that all of them take."""

import json
import unittest

import duckdb
import pandas
import polars
import pyarrow

import ketcd
from captures import STORY


class Columns(unittest.TestCase):
    def setUp(self):
        self.cluster = ketcd.open(STORY)

    def test_pyarrow(self):
        rows = self.cluster.history("pods", all_namespaces=True)
        table, changes = pyarrow.table(rows), [*rows]
        types = dict(zip(table.schema.names, map(str, table.schema.types)))
        self.assertEqual(types["revision"], "int64")
        self.assertEqual(types["time"], "timestamp[us, tz=UTC]")
        self.assertEqual({types[name] for name in ("type", "key", "by", "patch")}, {"string"})
        self.assertEqual(types["isPlaced"], "bool")
        self.assertEqual(table["revision"].to_pylist(), [change["revision"] for change in changes])
        self.assertEqual(table["by"].to_pylist(), [change["by"] for change in changes])
        patches = [patch and json.loads(patch) for patch in table["patch"].to_pylist()]
        self.assertEqual(patches, [change["patch"] for change in changes])
        times = [time and time.isoformat(timespec="milliseconds").replace("+00:00", "Z") for time in table["time"].to_pylist()]
        self.assertEqual(times, [change["time"] for change in changes])

    def test_every_kind_of_rows(self):
        every = {
            "list": self.cluster.list("pods", all_namespaces=True),
            "ls": self.cluster.ls(),
            "objects": self.cluster.history("deployments", namespace="web", objects=True),
            "decisions": self.cluster.decisions(namespace="web"),
            "grep": self.cluster.grep("node1", "pods"),
            "grep objects": self.cluster.grep("node1", "pods", objects=True),
            **{name: self.cluster.table(name, namespace="web") for name in ("objects", "history", "events", "decisions", "decision_nodes")},
        }
        for name, rows in every.items():
            with self.subTest(name):
                table, iterated = pyarrow.table(rows), [*rows]
                self.assertGreater(table.num_rows, 0)
                self.assertEqual(table.num_rows, len(iterated))
                for column in {*table.column_names} & {*iterated[0]} - {"object"}:
                    plain = [row.get(column) for row in iterated]
                    if column != "value" and all(isinstance(value, (int, str, type(None))) for value in plain) and "time" not in column.lower():
                        self.assertEqual(table[column].to_pylist(), plain, column)

    def test_a_table_is_what_export_writes(self):
        names = pyarrow.table(self.cluster.table("history", "pods", namespace="web")).column_names
        self.assertEqual(names[:3], ["revision", "sub_revision", "time"])

    def test_polars(self):
        frame = polars.DataFrame(self.cluster.table("history", namespace="web"))
        self.assertEqual(frame.schema["time"], polars.Datetime("us", "UTC"))
        self.assertEqual(frame.schema["object"], polars.String)
        busiest = frame.group_by("kind").len().sort("len", descending=True)
        self.assertEqual(busiest["len"].sum(), len(frame))

    def test_pandas(self):
        rows = self.cluster.table("history", namespace="web")
        frame = pandas.DataFrame.from_arrow(rows) if hasattr(pandas.DataFrame, "from_arrow") else pyarrow.table(rows).to_pandas()
        self.assertEqual(str(frame["time"].dtype), "datetime64[us, UTC]")
        self.assertEqual(len(frame), len([*rows]))

    def test_duckdb(self):
        changes = self.cluster.history("pods", all_namespaces=True)
        answer = duckdb.sql("select type, count(*) from changes group by type order by type").fetchall()
        self.assertEqual([kind for kind, _ in answer], ["ADDED", "DELETED", "MODIFIED"])

    def test_an_error_comes_through(self):
        with self.assertRaises(Exception) as raised:
            pyarrow.table(self.cluster.history("pod/web/none"))
        self.assertIn("not found", str(raised.exception))

    def test_no_rows_are_columns_too(self):
        table = pyarrow.table(self.cluster.grep("there is no such text", "pods"))
        self.assertEqual(table.num_rows, 0)
        self.assertIn("path", table.column_names)


if __name__ == "__main__":
    unittest.main()
