"""All damaged files of one kind, judged by as many processes at once as there are cores; the counts are of all."""

import multiprocessing
import os
import sys
import time
from collections import Counter

from batches import Bench

# Files are shown to ketcd at most so many at a time.
BATCH_FILES = 20
CORES = len(os.sched_getaffinity(0))

# What one of the processes judges with.
BENCH = None


def begin(*words):
    """Begins one of the processes, which has a folder and judges of its own. What the undamaged files are is known to all."""
    global BENCH
    *of_bench, scratch, of_wholes = words
    BENCH = Bench(*of_bench, f"{scratch}/{os.getpid()}")
    BENCH.of_wholes = of_wholes


def batch(numbers):
    return BENCH.batch(numbers)


class Run:
    """The damaged files of one kind."""

    HEAD = "| kind | files | refused by the judge | changed, by the judge | bad | findings | good | excepted | failed |\n|---|---|---|---|---|---|---|---|---|"

    def __init__(self, ketcd, kind, arguments, scratch):
        self.kind, self.arguments = kind, arguments
        self.bench, self.words = Bench(ketcd, kind, arguments, scratch), (ketcd, kind, arguments, scratch)
        self.counts, self.excepted, self.failures = Counter(), Counter(), []
        self.begun = time.monotonic()

    def all(self):
        of_wholes = self.bench.undamaged()
        if self.arguments.only is not None:
            self.add(self.bench.batch([self.arguments.only]))
            return
        numbers, at_once = range(self.arguments.files), max(1, min(BATCH_FILES, -(-self.arguments.files // CORES)))
        batches = [numbers[first : first + at_once] for first in range(0, len(numbers), at_once)]
        # Forked: what is damaged is read once, by the undamaged files.
        with multiprocessing.get_context("fork").Pool(min(CORES, len(batches) or 1), begin, (*self.words, of_wholes)) as pool:
            for found in pool.imap(batch, batches):
                self.add(found)

    def add(self, found):
        """Counts what a batch came to, and says it, in the order of the files' numbers."""
        self.counts += found.counts
        self.excepted += found.excepted
        self.failures += found.failures
        for line in found.shown:
            print(line)
        for line in found.told:
            print(line, file=sys.stderr, flush=True)

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
