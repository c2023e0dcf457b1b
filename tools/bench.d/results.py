"""Keeps measurements: a JSON line each in bench/results/NAME.jsonl, with the time, the commit and the number of cores."""

import datetime
import json
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def keep(name, **measured):
    """Appends one measurement."""
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = os.path.join(ROOT, "bench/results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}.jsonl"), "a") as file:
        file.write(json.dumps({"time": now, "commit": commit, "cores": os.cpu_count(), **measured}, ensure_ascii=False) + "\n")


def figures(run):
    """What a run took, as members of a measurement."""
    return {"seconds": round(run.wall, 3), "cpu_seconds": round(run.cpu, 3), "heap_bytes": run.heap, "exit_code": run.code}


def main(arguments):
    """NAME COMMAND…: runs a command, shows what it prints, and keeps each row of its Markdown tables."""
    name, *words = arguments
    head, before = None, None
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            row = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else None
            if row and set(row[0]) == {"-"}:
                head = before
            elif row and head:
                keep(name, **{title or "what": cell for title, cell in zip(head, row)})
            elif not row:
                head = None
            before = row
    raise SystemExit(child.returncode)
