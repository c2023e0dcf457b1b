"""tools/bench audit SNAPSHOT LOG: an audit log made long out of a short one, read beside etcd's snapshot and alone, as a Markdown table."""

import argparse
import datetime
import os
import re
import subprocess
import tempfile

from measure import Ketcd
from results import figures, keep

GIB = 1 << 30


def text_of(path):
    """A log's bytes; zstd is undone."""
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", "--long=27", path], check=True, capture_output=True).stdout
    with open(path, "rb") as log:
        return log.read()


def write(path, log, size):
    """Writes copies of a day's log, each of a day before, and the day itself at the end."""
    day = re.search(rb'"stageTimestamp":\s*"(\d{4}-\d{2}-\d{2})T', log)[1]
    name = re.search(rb'"auditID":\s*"', log)[0]
    last = datetime.date.fromisoformat(day.decode())
    copies = max(1, size // len(log))
    with open(path, "wb") as file:
        for number in range(copies):
            other = (last - datetime.timedelta(days=copies - 1 - number)).isoformat().encode()
            # A request of another day is another one.
            file.write(log.replace(name, name + b"%d-" % number).replace(day + b"T", other + b"T"))
    return copies


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench audit", description=__doc__)
    parser.add_argument("snapshot")
    parser.add_argument("log", help="the audit log of the same day, plain or zstd")
    parser.add_argument("--ketcd", required=True)
    parser.add_argument("--gib", type=float, default=10, help="how long the log is made (default 10)")
    parser.add_argument("--directory", help="where it is put for a while")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ketcd-bench.", dir=args.directory) as work:
        path = f"{work}/audit.log"
        copies = write(path, text_of(args.log), int(args.gib * GIB))
        ketcd = Ketcd(args.ketcd, f"{work}/cache")
        print(f"{os.path.getsize(path) / 1e9:.1f} GB, {copies} days")
        print("| command | time, time of all cores, heap |\n|---|---|")
        for words in (["-f", args.snapshot, "-f", path, "history", "--all"], ["-f", path, "ls", "pods", "-A"]):
            shown = " ".join(words).replace(path, "audit.log").replace(args.snapshot, "snapshot.db")
            taken = ketcd.run(words)
            print(f"| `{shown}` | {taken.cell()} |", flush=True)
            keep("audit", bytes=os.path.getsize(path), command=shown, **figures(taken))
