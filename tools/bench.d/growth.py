"""tools/bench growth [PODS…] [--each]: made-up clusters of growing size, and how time and heap of each command grow with them, as a Markdown table.

With --each, of `what-if --each node` alone: a node for each 30 pods.
"""

import argparse
import os
import subprocess
import tempfile
import time

from measure import Ketcd, median
from results import figures, keep

SIZES = [10_000, 50_000, 150_000]
PENDING = "pod/default/pending-0"


def commands(page, each):
    if each:
        return {"`what-if --each node`": ["what-if", "--each", "node"]}
    return {
        "open anew": ["--no-cache", "get", PENDING, "-o", "name"],
        "`get pod`": ["get", PENDING, "-o", "yaml"],
        "`status`": ["status"],
        "`history pod --diff`": ["history", PENDING, "--diff"],
        "`explain pod`": ["explain", PENDING],
        "`ls pods -A`": ["ls", "pods", "-A"],
        "`get pods -A -o ndjson`": ["get", "pods", "-A", "-o", "ndjson"],
        "`report -n`": ["report", "-n", "team-1", "--out", page],
        "`report`": ["report", "--out", page],
    }


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pods", type=int, nargs="*", default=SIZES, help=f"default: {SIZES}")
    parser.add_argument("--ketcd", required=True, help="the build that is measured")
    parser.add_argument("--generator", required=True, help="what makes the clusters")
    parser.add_argument("--runs", type=int, default=3, help="runs to take the median of (default 3)")
    parser.add_argument("--each", action="store_true", help="measure the loss of every node")
    parser.add_argument("--directory", help="where the files are put for a while; some 22 kB for each pod")
    args = parser.parse_args(arguments)
    taken = {}
    for pods in args.pods:
        with tempfile.TemporaryDirectory(prefix="ketcd-bench.", dir=args.directory) as work:
            file, page = os.path.join(work, "cluster.db"), os.path.join(work, "page.html")
            begun = time.monotonic()
            subprocess.run([args.generator, str(pods), file], check=True)
            print(f"{pods} pods: {os.path.getsize(file) / 1e9:.2f} GB, written in {time.monotonic() - begun:.0f} s", flush=True)
            ketcd = Ketcd(args.ketcd, os.path.join(work, "cache"))
            ketcd.run(["-f", file, "get", PENDING, "-o", "name"])
            for name, words in commands(page, args.each).items():
                taken[pods, name] = median([ketcd.run(["-f", file, *words]) for _ in range(args.runs)])
                print(f"  {name}: {taken[pods, name].cell()}", flush=True)
                keep("growth", pods=pods, command=name.strip("`"), runs=args.runs, **figures(taken[pods, name]))
    print("\n| pods | " + " | ".join(f"{pods:,}" for pods in args.pods) + " | the last two compared |")
    print("|---|" + "---|" * (len(args.pods) + 1))
    for name in commands("page.html", args.each):
        cells = [taken[pods, name].cell() for pods in args.pods]
        print(f"| {name} | " + " | ".join(cells) + f" | {grown(taken, args.pods, name)} |")


def grown(taken, sizes, name):
    """How many times the time and the heap of the last size but one the last one took."""
    if len(sizes) < 2:
        return "–"
    before, after = taken[sizes[-2], name], taken[sizes[-1], name]
    return f"time ×{after.wall / before.wall:.1f}, heap ×{after.heap / max(before.heap, 1):.1f}, pods ×{sizes[-1] / sizes[-2]:.1f}"
