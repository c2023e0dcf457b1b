"""Whether tests catch a mutant: they are compiled with it and run until one fails."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import building

# What shows in a test, in one way or the other.
CAUGHT = ("caught", "endless")
# How many times as long as the code as it is a mutant may compute, and how many CPU seconds more, before it is called endless; what waits for good is ended
# after so many seconds.
MAX_FACTOR, MORE_CPU_S, MAX_WAIT_S = 10, 60, 1800
# Panics of tests under mutants are expected.
ENVIRONMENT = {**os.environ, "CARGO_INCREMENTAL": "0", "RUST_BACKTRACE": "0"}


@dataclass
class Tried:
    """`outcome`: caught by a test, endless, missed, or unviable where it does not compile. `by`: what showed it."""

    outcome: str
    by: str
    seconds: float


class Tests:
    """The tests of an area, which pass as the code is."""

    def __init__(self, tree, area):
        self.tree = tree
        self.tests = [(words.partition(" -- ")[0].split(), words.partition(" -- ")[2].split()) for words in area.tests]
        self.cpu = [0.0 for _ in self.tests]
        for place, (selection, filters) in enumerate(self.tests):
            binaries = self.build(selection)
            if binaries is None:
                sys.exit(f"tools/mutants: {' '.join(selection)} does not compile without a mutant")
            outcome, self.cpu[place] = self.run(binaries, filters, None)
            if outcome:
                sys.exit(f"tools/mutants: {' '.join(selection)} fails without a mutant")

    def against(self, mutant):
        """Puts a mutant into the tree, tries the tests one after the other, and takes it out again."""
        begun = time.monotonic()
        self.tree.patch(mutant)
        try:
            outcome, by = self.tried()
        finally:
            self.tree.patch(mutant, "--reverse")
        return Tried(outcome, by, time.monotonic() - begun)

    def tried(self):
        for (selection, filters), cpu in zip(self.tests, self.cpu):
            binaries = self.build(selection)
            if binaries is None:
                return "unviable", ""
            outcome, _ = self.run(binaries, filters, cpu * MAX_FACTOR + MORE_CPU_S)
            if outcome:
                return outcome, " ".join(selection)
        return "missed", ""

    def build(self, selection):
        """The executables; None where it does not compile."""
        words = ["cargo", "test", "--locked", "--no-run", "--quiet", "--message-format", "json", *selection]
        environment = {**ENVIRONMENT, "CARGO_TARGET_DIR": self.tree.target}
        done = subprocess.run(words, cwd=self.tree.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if done.returncode:
            return None
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        made = [one for one in messages if one["reason"] == "compiler-artifact" and one["executable"] and one["profile"]["test"]]
        return [building.binary(one) for one in made]

    def run(self, binaries, filters, most):
        """Runs the executables until one fails; returns how, or nothing, and the CPU seconds."""
        total = 0.0
        for binary in binaries:
            outcome, cpu = self.ended(binary, filters, most)
            total += cpu
            if outcome:
                return outcome, total
        return "", total

    def ended(self, binary, filters, most):
        def limit():
            os.setpgid(0, 0)
            if most:
                resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most) + 5))

        environment = {**ENVIRONMENT, "CARGO_MANIFEST_DIR": binary.folder, "CARGO_TARGET_DIR": self.tree.target}
        words = [binary.path, "--skip", "_nightly", "--skip", "on_3_4", "--skip", "on_3_7", *filters]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(words, cwd=binary.folder, env=environment, preexec_fn=limit, **quiet)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            code = child.wait(timeout=MAX_WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = -signal.SIGXCPU
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        is_endless = code in (-signal.SIGXCPU, -signal.SIGKILL)
        return ("endless" if is_endless else "caught" if code else ""), cpu
