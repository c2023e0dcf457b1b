"""Makes the damaged files of one kind, asks ketcd and the judges, and compares their words."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter

from exceptions import lawful
from judges import Judges
from sources import KINDS

# Files are shown to ketcd so many at a time.
BATCH_FILES = 20
CODES = {"good": 0, "findings": 1, "bad": 2}
PATIENCE_S = 60
NOW_TIME = "2026-11-30T00:00:00Z"


class Run:
    """The damaged files of one kind."""

    HEAD = "| kind | files | refused by the judge | changed, by the judge | bad | findings | good | excepted | failed |\n|---|---|---|---|---|---|---|---|---|"

    def __init__(self, ketcd, kind, arguments, scratch):
        self.ketcd, self.kind, self.arguments, self.scratch = ketcd, kind, arguments, scratch
        self.judges = Judges(scratch)
        self.counts, self.excepted, self.failures = Counter(), Counter(), []
        self.begun = time.monotonic()

    def all(self):
        wholes = KINDS[self.kind].wholes
        answers, documents = [], []
        for place, whole in enumerate(wholes):
            path = self.write(f"whole-{place}", whole, {})
            answers.append(self.judge(path))
            documents.append(self.verify([path])[0])
            said = documents[-1]
            if answers[-1]["refused"] or said.get("verdict") == "bad":
                sys.exit(f"{self.kind}: the undamaged file is not good: {answers[-1]} {json.dumps(said, indent=1)}")
        only = self.arguments.only
        numbers = [only] if only is not None else range(self.arguments.files)
        for first in range(0, len(numbers), BATCH_FILES):
            self.batch(numbers[first : first + BATCH_FILES], wholes, list(zip(answers, documents)))

    def batch(self, numbers, wholes, of_wholes):
        made = [self.damaged(number, wholes) for number in numbers]
        made = [one for one in made if one]
        for (number, damage, place, path), said in zip(made, self.verify([path for *_, path in made])):
            self.compare(number, damage, of_wholes[place], self.judge(path), said)
            if self.arguments.keep and (number in self.failures or self.arguments.only is not None):
                shutil.copytree(f"{self.scratch}/{number}", f"{self.arguments.keep}/{self.kind}-{number}", dirs_exist_ok=True)
            shutil.rmtree(f"{self.scratch}/{number}")

    def damaged(self, number, wholes):
        """Makes a file from nothing but the seed, the kind and its number. None where chance changed nothing."""
        chance = random.Random(f"{self.arguments.seed} {self.kind} {number}")
        place = chance.randrange(len(wholes))
        whole = wholes[place]
        name = chance.choice(sorted(whole.targets))
        damages = whole.targets[name]
        damage = damages[number % len(damages)]
        data = whole.files[name]
        for _ in range(9):
            copy = damage(data, chance)
            if copy != data:
                return number, f"{damage.__name__} {name}", place, self.write(str(number), whole, {name: copy})
        return None

    def write(self, folder, whole, changed):
        for name, data in {**whole.files, **changed}.items():
            path = f"{self.scratch}/{folder}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
        return f"{self.scratch}/{folder}/{whole.path}"

    def judge(self, path):
        (judge,) = KINDS[self.kind].judges
        return self.judges.ask(judge, path)

    def verify(self, paths):
        """What ketcd says of each file. All are asked at once, and each alone where that gives no document."""
        if not paths:
            return []
        command = [self.ketcd, "--no-cache", "verify", *paths, "-o", "json", "--now", NOW_TIME]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S * len(paths))
            document, wrong = json.loads(done.stdout), "panicked" in done.stderr
        except subprocess.TimeoutExpired:
            document, wrong, done = None, "hangs", None
        except ValueError:
            document, wrong = None, "panics" if "panicked" in done.stderr else f"has no document: {done.stderr[-300:]}"
        if len(paths) > 1:
            if wrong or document is None:
                return [self.verify([path])[0] for path in paths]
            found = {one["verification"]["name"]: one["verification"] for one in document["sources"]}
            worst = max(CODES[one["verdict"]] for one in found.values())
            wrong = f"ends with {done.returncode}, not {worst}" if done.returncode != worst else ""
            return [found[path] | {"wrong": wrong} for path in paths]
        if document is None or wrong:
            return [{"verdict": "none", "findings": [], "notChecked": [], "wrong": wrong or "panics", "stderr": done.stderr if done else ""}]
        code = CODES[document["verdict"]]
        return [document | {"wrong": f"ends with {done.returncode}, not {code}" if done.returncode != code else ""}]

    def compare(self, number, what, of_whole, judged, said):
        """Counts a file, and holds what ketcd says of it against the judge's words."""
        (whole, said_of_whole), counts = of_whole, self.counts
        refused = bool(judged["refused"])
        differs = not refused and (judged["names"], judged["values"]) != (whole["names"], whole["values"])
        counts.update(["files", said["verdict"], *["refused"] * refused, *["changed"] * differs])
        why = said["wrong"]
        if said["verdict"] == "good" and (refused or differs):
            exception = None if refused else lawful(self.kind, whole, judged, said, said_of_whole)
            if exception:
                self.excepted[exception] += 1
            else:
                why = why or f"calls it good; the judge {'refuses: ' + judged['refused'] if refused else 'reads something else'}"
        if self.arguments.only is not None:
            lost = sorted(set(whole.get("revisions") or []) ^ set(judged.get("revisions") or []))
            judge = {key: value for key, value in judged.items() if key != "revisions"}
            print(json.dumps({"damage": what, "judge": judge, "revisions_that_differ": lost, "ketcd": said}, indent=1))
        if why:
            self.failures.append(number)
            print(f"{self.kind} {number} ({what}): ketcd {why}", file=sys.stderr, flush=True)

    def figures(self):
        counts = self.counts
        return {
            "files": counts["files"],
            "refused": counts["refused"],
            "changed": counts["changed"],
            "bad": counts["bad"],
            "findings": counts["findings"],
            "good": counts["good"],
            "excepted": dict(self.excepted),
            "failed": len(self.failures),
            "seconds": round(time.monotonic() - self.begun),
        }

    def row(self):
        figures = self.figures()
        figures["excepted"] = sum(self.excepted.values())
        return f"| {self.kind} | " + " | ".join(str(figures[key]) for key in list(figures)[:-1]) + " |"
