"""Some damaged files of one kind: makes them, asks ketcd and the judges, and compares their words. What is found follows from the seed, the kind and the
files' numbers, whatever is judged at the same time."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

from exceptions import lawful
from judges import Judges
from sources import KINDS

CODES = {"good": 0, "findings": 1, "bad": 2}
PATIENCE_S = 60
NOW_TIME = "2026-11-30T00:00:00Z"


@dataclass
class Found:
    """What a batch came to. `told` and `shown`: lines for standard error and for the output."""

    counts: Counter = field(default_factory=Counter)
    excepted: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)
    told: list = field(default_factory=list)
    shown: list = field(default_factory=list)


class Bench:
    """Where files of one kind are made and judged, one after the other: a folder, and judges that stay."""

    def __init__(self, ketcd, kind, arguments, scratch):
        self.ketcd, self.kind, self.arguments, self.scratch = ketcd, kind, arguments, scratch
        self.judges = Judges(scratch)
        self.of_wholes = []

    def undamaged(self):
        """What is said of the undamaged files; ends the run where that is not good."""
        for place, whole in enumerate(KINDS[self.kind].wholes):
            path = self.write(f"whole-{place}", whole, {})
            answer, said = self.judge(path), self.verify([path])[0]
            if answer["refused"] or said.get("verdict") == "bad":
                sys.exit(f"{self.kind}: the undamaged file is not good: {answer} {json.dumps(said, indent=1)}")
            self.of_wholes.append((answer, said))
        return self.of_wholes

    def batch(self, numbers):
        found, wholes = Found(), KINDS[self.kind].wholes
        made = [one for one in (self.damaged(number, wholes) for number in numbers) if one]
        for (number, damage, place, path), said in zip(made, self.verify([path for *_, path in made])):
            self.compare(found, number, damage, self.of_wholes[place], self.judge(path), said)
            if self.arguments.keep and (number in found.failures or self.arguments.only is not None):
                shutil.copytree(f"{self.scratch}/{number}", f"{self.arguments.keep}/{self.kind}-{number}", dirs_exist_ok=True)
            shutil.rmtree(f"{self.scratch}/{number}")
        return found

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

    def compare(self, found, number, what, of_whole, judged, said):
        """Counts a file, and holds what ketcd says of it against the judge's words."""
        whole, said_of_whole = of_whole
        refused = bool(judged["refused"])
        differs = not refused and (judged["names"], judged["values"]) != (whole["names"], whole["values"])
        found.counts.update(["files", said["verdict"], *["refused"] * refused, *["changed"] * differs])
        why = said["wrong"]
        if said["verdict"] == "good" and (refused or differs):
            exception = None if refused else lawful(self.kind, whole, judged, said, said_of_whole)
            if exception:
                found.excepted[exception] += 1
            else:
                why = why or f"calls it good; the judge {'refuses: ' + judged['refused'] if refused else 'reads something else'}"
        if self.arguments.only is not None:
            lost = sorted(set(whole.get("revisions") or []) ^ set(judged.get("revisions") or []))
            judge = {key: value for key, value in judged.items() if key != "revisions"}
            found.shown.append(json.dumps({"damage": what, "judge": judge, "revisions_that_differ": lost, "ketcd": said}, indent=1))
        if why:
            found.failures.append(number)
            found.told.append(f"{self.kind} {number} ({what}): ketcd {why}")
