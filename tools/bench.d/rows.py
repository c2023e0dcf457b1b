"""The rows of tools/bench table: each command that a person waits for, on one file, on several, and with an audit log."""

import os
import subprocess
from dataclasses import dataclass

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# How many backups a folder holds that is made of one.
BACKUPS = 7


@dataclass
class Row:
    """What the row is called, and its words."""

    name: str
    words: list


def of_file(file, found, page):
    """The commands on the file itself."""
    namespace, pod, explained, node = found
    asked = [
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
        # A short word that more than half of the objects of a real cluster have.
        ["grep", "POD", "--count"],
        ["verify"],
        ["verify", "--sample"],
        ["rehearse"],
    ]
    if node:
        asked.append(["what-if", "--drain", node])
    bundle, traces = (os.path.join(os.path.dirname(page), name) for name in ("slice.ketcd", "traces.jsonl"))
    redacted = ["--redact", "names,values,addresses", "--out", bundle]
    asked += [
        ["bundle", "-n", namespace, "--out", bundle],
        ["bundle", "-n", namespace, *redacted],
        # With a decision in it: what a scheduler counted of all other pods and nodes comes with it.
        ["bundle", explained, *redacted],
        ["export", "-n", namespace, "--format", "otlp", "--out", traces],
    ]
    folder = os.path.dirname(page) + os.sep
    rows = [Row(" ".join(words).replace(folder, ""), ["-f", file, *words]) for words in asked]
    first = ["--no-cache", "get", pod, "-o", "yaml"]
    return [*rows, Row(f"get {pod} -o yaml --no-cache", ["-f", file, *first])]


def of_folder(file, folder, pod):
    """The commands on a folder of backups, which are one history, and the file rehearsed over the last of them."""
    asked = [["status"], ["history", pod, "--diff"], ["ls", "pods", "-A"], ["--no-cache", "status"]]
    last = os.path.join(folder, max(os.listdir(folder)))
    over = Row("rehearse --over LAST-BACKUP", ["-f", file, "rehearse", "--over", last])
    return [over, *(Row(f"-f backups/ {' '.join(words)}", ["-f", folder, *words]) for words in asked)]


def of_log(file, log):
    """The commands with the audit log of the file's day, and on the log alone."""
    return [
        Row("-f audit.log history --all -o ndjson", ["-f", file, "-f", log, "history", "--all", "-o", "ndjson"]),
        Row("audit.log alone: history --all -o ndjson", ["-f", log, "history", "--all", "-o", "ndjson"]),
        Row("audit.log alone: ls pods -A", ["-f", log, "ls", "pods", "-A"]),
    ]


def folder_of(file, work):
    """A folder of backups that are the same file, which costs no room; `None` where it cannot be linked, as it lies on another disk."""
    folder = os.path.join(work, "backups")
    os.makedirs(folder)
    try:
        for day in range(BACKUPS):
            os.link(file, os.path.join(folder, f"snapshot-{day}.db"))
    except OSError:
        return None
    return folder


def recorded_log(work):
    """The snapshot and the audit log of testdata, unpacked as they lie on a disk."""
    paths = []
    for name in ("snapshot.db", "full.jsonl"):
        paths.append(os.path.join(work, f"audit-{name}"))
        packed = os.path.join(ROOT, "testdata/audit", f"{name}.zst")
        subprocess.run(["zstd", "-dqf", "--long=27", packed, "-o", paths[-1]], check=True)
    return paths
