"""What remains of the experiments: the table, the figures, and the recorded states."""

import io
import json
import os
import subprocess
import tarfile
import time

OUTCOMES = ("right", "wrong", "notObservable")


class Table:
    """A row for each experiment."""

    def __init__(self, here):
        self.here, self.rows, self.failures, self.wrong = here, [], [], []
        print(f"{'experiment':22} {'sentences':>9} {'right':>6} {'wrong':>6} {'not observable':>15}   {'--done: right':>13} {'wrong':>6}  seconds", flush=True)

    def add(self, name, says, scores, done, notes, seconds):
        counts = {outcome: sum(score["outcome"] == outcome for score in scores) for outcome in OUTCOMES}
        self.rows.append({"experiment": name, "says": says, "sentences": len(scores), **counts, "done_right": done["right"], "done_wrong": done["wrong"],
                          "done_not_observable": done["notObservable"], "seconds": round(seconds)})
        print(f"{name:22} {len(scores):>9} {counts['right']:>6} {counts['wrong']:>6} {counts['notObservable']:>15}   {done['right']:>13} {done['wrong']:>6}"
              f"  {seconds:.0f}", flush=True)
        for note in notes:
            print(f"  note: {note}")
        for score in scores:
            if score["outcome"] == "wrong":
                self.wrong.append(score)
                print(f"  WRONG: {score['forecast']} {named(score['affected'])}: {score['says']}: {score['evidence']}", flush=True)
        for score in done["scores"]:
            if score["outcome"] == "wrong" and score["forecast"] not in done["excused"]:
                self.wrong.append(score)
                print(f"  WRONG by --done: {score['forecast']} {named(score['affected'])}: {score['evidence']}", flush=True)

    def fail(self, name, why):
        self.failures.append(name)
        print(f"{name:22} failed: {why}", flush=True)

    def end(self):
        total = {key: sum(row[key] for row in self.rows) for key in ("sentences", *OUTCOMES, "done_right", "done_wrong")}
        print(f"{'all':22} {total['sentences']:>9} {total['right']:>6} {total['wrong']:>6} {total['notObservable']:>15}   {total['done_right']:>13} "
              f"{total['done_wrong']:>6}")
        if self.here:
            day = time.strftime("%Y-%m-%d", time.gmtime())
            replace(f"{self.here}/bench/results/rehearsals.jsonl", [{"committed": day, **row} for row in self.rows])
        return 1 if self.wrong or self.failures else 0


def replace(path, rows):
    """Writes rows of experiments in place of earlier ones of the same."""
    kept = []
    if os.path.exists(path):
        with open(path) as file:
            kept = [line for line in file if json.loads(line)["experiment"] not in {row["experiment"] for row in rows}]
    with open(path, "w") as file:
        file.writelines(kept + [json.dumps(row) + "\n" for row in rows])


def named(affected):
    return "/".join(filter(None, (affected["kind"], affected["namespace"], affected["name"]))) if affected else ""


def record(here, run):
    """Writes the states of an experiment as one archive, so that what they share is kept once, and its scores."""
    folder = f"{here}/testdata/rehearsals"
    os.makedirs(folder, exist_ok=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        add(archive, "backup.db", whole(f"{run.work}/backup.db"))
        newest = [f"newest-{member}.db" for member in run.c.names] if len(run.c.names) > 1 else ["newest.db"]
        for name, path in zip(newest, run.over):
            add(archive, name, whole(path if path.endswith(".db") else f"{path}/member/snap/db"))
        add(archive, "after.db", whole(f"{run.work}/after.db"))
        add(archive, "kubelets.json", whole(f"{run.work}/facts.json"))
    path = f"{folder}/{run.name}.tar.zst"
    subprocess.run(["zstd", "-q", "-f", "-19", "--long=27", "-o", path], input=packed.getvalue(), check=True)
    done = held(run.ketcd, path, newest, run.asked_at)
    row = {"experiment": run.name, "now": run.asked_at, "newest": newest, "raised": run.experiment.is_raised,
           **{outcome: done[outcome] for outcome in OUTCOMES}}
    replace(f"{folder}/scores.jsonl", [row])


def held(ketcd, archive, newest, now):
    """What `--done` says of the recorded states, without keys."""
    over = [word for name in newest for word in ("--over", f"{archive}::{name}")]
    command = [ketcd, "rehearse", f"{archive}::backup.db", *over, "--done", f"{archive}::after.db", "--now", now, "-o", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)


def add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def whole(path):
    with open(path, "rb") as file:
        return file.read()
