"""tools/bench table SNAPSHOT: what each command takes on a file, beside the peers that are installed, as a Markdown table.

With --old it stops with exit code 1 where a row lost a tenth: the table beside the last release's build is a step of a release.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

import rows
from measure import Ketcd, median, run
from results import figures, keep

# A command that takes longer than this, in seconds, is run once.
LONG = 10
# By how much a row may be slower than the old build's, and which seconds are never held against it: runs differ by as much.
MOST_LOST, NOISE = 1.10, 0.02


def subjects(ketcd, file):
    """Of the data itself: a pod of the namespace that has neither many nor few, a pod to explain: one that waits, if there is one, and the node that the
    first pod is on, if it has one."""
    pods = [line.split() for line in ketcd.output(["-f", file, "ls", "pods", "-A"]).splitlines()[1:]]
    if not pods:
        raise SystemExit("tools/bench: there are no pods in it")
    by_size = sorted((count, name) for name, count in Counter(words[0] for words in pods).items())
    namespace = by_size[len(by_size) // 2][1]
    first = next(words for words in pods if words[0] == namespace)
    waiting = [words for words in pods if words[3] == "Pending"]
    name = "pod/{0[0]}/{0[1]}".format
    node = ketcd.output(["-f", file, "get", name(first), "-o", "jsonpath={.spec.nodeName}"]).strip()
    return namespace, name(first), name((waiting or [first])[-1]), node


def peers(file, pod, packed, work):
    """What other tools are asked the same: by the first words of the row."""
    found = {}
    built = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "etcdutl")
    etcdutl = shutil.which("etcdutl") or (built if os.access(built, os.X_OK) else None)
    if etcdutl:
        found["status"] = ("etcdutl snapshot status", [etcdutl, "snapshot", "status", file])
        # The checks that etcd's own tool has: it reads every page, and computes the hash of all keys. It writes into what it opens, so it gets a copy.
        found["verify"] = ("etcdutl hashkv", [etcdutl, "hashkv", shutil.copyfile(file, os.path.join(work, "hashed.db"))])
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


def has_lost(before, now, by_cpu):
    """Whether a row lost a tenth, and more than runs differ by; one that ended otherwise before has lost nothing."""
    old, new = (before.cpu, now.cpu) if by_cpu else (before.wall, now.wall)
    return before.code in (0, 1) and (new > old * MOST_LOST and new - old > NOISE or now.code not in (0, 1))


class Table:
    """The table on its way to the screen, and the rows that lost."""

    def __init__(self, builds, args):
        self.builds, self.args, self.lost = builds, args, []

    def add(self, row, peer=None):
        """Measures a row, prints it and keeps it. What seems to have lost is measured once more."""
        if self.args.only not in row.name:
            return
        taken = measured(self.builds, row.words, self.args.runs)
        if len(taken) == 2 and has_lost(*taken, self.args.busy):
            taken = measured(self.builds, row.words, self.args.runs)
            if has_lost(*taken, self.args.busy):
                self.lost.append(row.name)
        self.print(row, taken, peer)

    def print(self, row, taken, peer):
        """The build that is measured comes last in `taken`."""
        about = {"file": os.path.basename(self.args.snapshot), "bytes": os.path.getsize(self.args.snapshot), "command": row.name}
        for build, one in zip(["ketcd", "before"], reversed(taken)):
            keep("table", **about, build=build, **figures(one))
        cells = [one.cell() for one in taken]
        if peer:
            other = run(peer[1])
            keep("table", **about, build=peer[0], **figures(other))
            cells.append(f"{peer[0]}: {other.cell()}")
        else:
            cells.append("–")
        print(f"| `{row.name}` | " + " | ".join(cells) + " |", flush=True)


def arguments_of(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench table", description=__doc__)
    parser.add_argument("snapshot")
    parser.add_argument("--ketcd", required=True, help="the build that is measured")
    parser.add_argument("--old", metavar="KETCD", help="another build, measured in turn with it: the last release's, which no row may be a tenth slower than")
    parser.add_argument("--busy", action="store_true", help="compare the time of all cores: for a machine that has other work to do")
    parser.add_argument("--backups", metavar="FOLDER", help="backups of one cluster; default: the file, seven times")
    parser.add_argument("--audit", metavar="LOG", help="the audit log of the file's day; default: the log of testdata, with its own snapshot")
    parser.add_argument("--runs", type=int, default=3, help="runs to take the median of (default 3)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows that contain it")
    return parser.parse_args(arguments)


def main(arguments):
    args = arguments_of(arguments)
    with tempfile.TemporaryDirectory(prefix="ketcd-bench.") as work:
        paths = [path for path in [args.old, args.ketcd] if path]
        builds = [Ketcd(path, os.path.join(work, f"cache-{index}")) for index, path in enumerate(paths)]
        file, page = args.snapshot, os.path.join(work, "page.html")
        # The first command keeps the index and fills the page cache.
        for ketcd in builds:
            ketcd.run(["-f", file, "get", "nodes", "-o", "name"])
        found = subjects(builds[-1], file)
        namespace, pod, explained, node = found
        print(f"`{os.path.basename(file)}`, {os.path.getsize(file) / 1e9:.2f} GB; {pod}, explained {explained}, namespace {namespace}, node {node or 'none'}; "
              f"{os.cpu_count()} cores; time, time of all cores, heap at its peak; median of {args.runs}\n")
        heads = (["before"] if args.old else []) + ["ketcd", "peer"]
        print("| command | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 1), flush=True)
        table = Table(builds, args)
        from_packed = f"get {pod} -o yaml, from .zst"
        packed = packed_copy(file, work) if args.only in from_packed else None
        others = peers(file, pod, packed, work)
        for row in rows.of_file(file, found, page):
            table.add(row, others.get(row.name))
        if packed:
            table.add(rows.Row(from_packed, ["-f", packed, "get", pod, "-o", "yaml"]), others["packed"])
        if backups := args.backups or rows.folder_of(file, work):
            for row in rows.of_folder(file, backups, pod):
                table.add(row)
        else:
            print("\ntools/bench: no folder of backups: set TMPDIR to the disk of the file, or give --backups", file=sys.stderr)
        if args.audit or shutil.which("zstd"):
            snapshot, log = (file, args.audit) if args.audit else rows.recorded_log(work)
            for row in rows.of_log(snapshot, log):
                table.add(row)
        if table.lost:
            raise SystemExit(f"\ntools/bench: slower by a tenth or more than {args.old}: " + ", ".join(table.lost))


def packed_copy(file, work):
    """The file as zstd makes it smaller, where zstd is installed."""
    if not shutil.which("zstd"):
        return None
    packed = os.path.join(work, "snapshot.db.zst")
    subprocess.run(["zstd", "-q", "-T0", "-3", "--long=27", file, "-o", packed], check=True)
    return packed
