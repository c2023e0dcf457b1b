"""tools/bench table SNAPSHOT: what each command takes on a file, beside the peers that are installed, as a Markdown table."""

import argparse
import os
import shutil
import subprocess
import tempfile
from collections import Counter

from measure import Ketcd, median, run
from results import figures, keep

# A command that takes longer than this, in seconds, is run once.
LONG = 10


def subjects(ketcd, file):
    """Of the data itself: a pod of the namespace that has neither many nor few, and a pod to explain: one that waits, if there is one."""
    pods = [line.split() for line in ketcd.output(["-f", file, "ls", "pods", "-A"]).splitlines()[1:]]
    if not pods:
        raise SystemExit("tools/bench: there are no pods in it")
    by_size = sorted((count, name) for name, count in Counter(words[0] for words in pods).items())
    namespace = by_size[len(by_size) // 2][1]
    first = next(words for words in pods if words[0] == namespace)
    waiting = [words for words in pods if words[3] == "Pending"]
    name = "pod/{0[0]}/{0[1]}".format
    return namespace, name(first), name((waiting or [first])[-1])


def rows(namespace, pod, explained, page):
    """The commands that are measured."""
    return [
        ["status"],
        ["triage"],
        ["usage"],
        ["explain", explained],
        ["explain", "--all", "-o", "ndjson", "--no-remedies"],
        ["timeline", pod],
        ["history", pod, "--diff"],
        ["blame", pod],
        ["get", pod, "-o", "yaml", "--at", "-1m"],
        ["ls", "pods", "-A"],
        ["get", "pods", "-A", "-o", "ndjson"],
        ["get", pod, "-o", "yaml"],
        ["ls", "pods", "-n", namespace],
        ["report", "-n", namespace, "--out", page],
        ["report", "--out", page],
        ["history", "--all", "-o", "ndjson"],
        ["grep", pod.split("/")[2], "-l"],
        ["grep", pod.split("/")[2]],
    ]


def peers(file, pod, packed):
    """What other tools are asked the same: by the first words of the row."""
    found = {}
    built = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "etcdutl")
    etcdutl = shutil.which("etcdutl") or (built if os.access(built, os.X_OK) else None)
    if etcdutl:
        found["status"] = ("etcdutl snapshot status", [etcdutl, "snapshot", "status", file])
    elif etcdctl := shutil.which("etcdctl"):
        found["status"] = ("etcdctl snapshot status", [etcdctl, "snapshot", "status", file])
    if auger := shutil.which("auger"):
        key = "/registry/pods/" + pod.removeprefix("pod/")
        found[f"get {pod} -o yaml"] = ("auger extract", [auger, "extract", "-f", file, "-k", key])
    if packed:
        found["packed"] = ("zstd -dc", ["zstd", "-dc", "--long=27", packed])
    return found


def measured(builds, words, runs):
    """Every build in turn."""
    taken = [[] for _ in builds]
    while len(taken[-1]) < runs:
        for ketcd, before in zip(builds, taken):
            before.append(ketcd.run(words))
        if taken[-1][0].wall > LONG:
            break
    return [median(each) for each in taken]


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench table", description=__doc__)
    parser.add_argument("snapshot")
    parser.add_argument("--ketcd", required=True, help="the build that is measured")
    parser.add_argument("--old", metavar="KETCD", help="another build, measured in turn with it")
    parser.add_argument("--runs", type=int, default=3, help="runs to take the median of (default 3)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows that contain it")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ketcd-bench.") as work:
        paths = [path for path in [args.old, args.ketcd] if path]
        builds = [Ketcd(path, os.path.join(work, f"cache-{index}")) for index, path in enumerate(paths)]
        file, page = args.snapshot, os.path.join(work, "page.html")
        # The first command keeps the index and fills the page cache.
        for ketcd in builds:
            ketcd.run(["-f", file, "get", "nodes", "-o", "name"])
        namespace, pod, explained = subjects(builds[-1], file)
        print(f"`{os.path.basename(file)}`, {os.path.getsize(file) / 1e9:.2f} GB; {pod}, explained {explained}, namespace {namespace}; "
              f"{os.cpu_count()} cores; time, time of all cores, heap at its peak; median of {args.runs}\n")
        heads = (["before"] if args.old else []) + ["ketcd", "peer"]
        print("| command | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 1), flush=True)
        packed = packed_copy(file, work) if args.only in "packed" else None
        others = peers(file, pod, packed)
        for words in rows(namespace, pod, explained, page):
            name = " ".join(words).replace(page, "page.html")
            if args.only in name:
                line(file, name, measured(builds, ["-f", file, *words], args.runs), others.get(name))
        if args.only in f"get {pod} --no-cache":
            line(file, f"get {pod} -o yaml --no-cache", measured(builds, ["-f", file, "--no-cache", "get", pod, "-o", "yaml"], args.runs), None)
        if packed:
            line(packed, f"get {pod} -o yaml, from .zst", measured(builds, ["-f", packed, "get", pod, "-o", "yaml"], args.runs), others["packed"])


def packed_copy(file, work):
    """The file as zstd makes it smaller, where zstd is installed."""
    if not shutil.which("zstd"):
        return None
    packed = os.path.join(work, "snapshot.db.zst")
    subprocess.run(["zstd", "-q", "-T0", "-3", "--long=27", file, "-o", packed], check=True)
    return packed


def line(file, name, taken, peer):
    """Prints and keeps one row; the build that is measured comes last in `taken`."""
    for build, one in zip(["ketcd", "before"], reversed(taken)):
        keep("table", file=os.path.basename(file), bytes=os.path.getsize(file), command=name, build=build, **figures(one))
    cells = [one.cell() for one in taken]
    if peer:
        other = run(peer[1])
        keep("table", file=os.path.basename(file), bytes=os.path.getsize(file), command=name, build=peer[0], **figures(other))
        cells.append(f"{peer[0]}: {other.cell()}")
    else:
        cells.append("–")
    print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
