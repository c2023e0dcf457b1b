"""The programs that tests need: announced, installed beside the compiler, and handed to the tests; what cannot be had says which tests do not run."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from catalogue import PROGRAMS
from install import Missing, cache, found, plan

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Need:
    """A program, and the tests that cannot run without it: of these binaries, those whose names hold one of these words, or all."""

    program: str
    binaries: tuple
    words: tuple = ()
    is_optional: bool = False
    # Only `--all` asks for it: without, those tests are left out.
    is_nightly: bool = False


NEEDS = (
    Need("etcd-3.4", ("live", "contracts"), ("on_3_4",), is_nightly=True),
    Need("etcd-3.5", ("live", "contracts")),
    Need("etcd-3.7", ("live", "contracts"), ("on_3_7",), is_nightly=True),
    Need("etcdutl", ("live",), ("etcdutl",), is_optional=True),
    Need("kubectl", ("serve", "live"), ("kubectl",)),
    Need("duckdb", ("cli",), ("duckdb",), is_optional=True),
    Need("chromium", ("web",), is_optional=True),
    Need("bash", ("cli",), ("bash",), is_optional=True),
    Need("zsh", ("cli",), ("zsh",), is_optional=True),
    Need("fish", ("cli",), ("fish",), is_optional=True),
)

# Tests whose names end so take minutes, and are left out without `--all`.
LONG = "_nightly"


@dataclass
class Skipped:
    """Tests that are not run: the words in their names by binary ("" for all of it), and why."""

    words: dict = field(default_factory=dict)
    reasons: list = field(default_factory=list)

    def add(self, binaries, words, reason):
        for binary in binaries:
            self.words.setdefault(binary, []).extend(words or [""])
        self.reasons.append(reason)


class Programs:
    """What a run needs."""

    def __init__(self, asked):
        self.asked = asked
        self.needs = [need for need in NEEDS if self.is_asked(need) and (asked.all or not need.is_nightly)]
        self.paths, self.took, self.failed, self.threads = {}, {}, {}, []

    def is_asked(self, need):
        if self.asked.package not in (None, "ketcd"):
            return False
        return not self.asked.only or any(binary in self.asked.only for binary in need.binaries)

    def announce(self):
        """Says what will be done, before anything is."""
        print(f"tools/test: programs that tests need (kept in {cache()}; `cargo clean` leaves them):")
        for need in self.needs:
            print(f"  {plan(PROGRAMS[need.program], self.asked.system)}")
        if not os.path.isdir(os.environ.get("CARGO_TARGET_DIR", "target")):
            print("tools/test: all is compiled first: some 380 crates, 100 MB from crates.io, into target/ (3 GB); TESTING.md says how long that takes")
        sys.stdout.flush()

    def begin(self):
        """Installs one after the other, beside the compiler."""
        thread = threading.Thread(target=lambda: [self.get(need.program) for need in self.needs], daemon=True)
        thread.start()
        self.threads.append(thread)

    def get(self, name):
        begun = time.monotonic()
        try:
            is_there = found(PROGRAMS[name])
        except Missing as missing:
            self.failed[name] = str(missing)
            return
        if is_there:
            self.paths[name] = is_there
            return
        words = [os.path.join(HERE, "../program"), *(["--system"] if self.asked.system else []), name]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            out, err = child.communicate()
        if child.returncode:
            self.failed[name] = err.strip()
        else:
            self.paths[name] = out.strip()
        self.took[name] = time.monotonic() - begun

    def end(self, measured):
        """Waits for them; returns the environment of the tests and which are not run."""
        for thread in self.threads:
            thread.join()
        if measured:
            measured.installed = self.took
        skipped = Skipped()
        if not self.asked.all:
            skipped.words[""] = [LONG, *(word for need in NEEDS if need.is_nightly for word in need.words)]
        for need in self.needs:
            if need.program not in self.failed:
                continue
            if not need.is_optional or os.environ.get("CI"):
                sys.exit(f"tools/test: {self.failed[need.program]}")
            skipped.add(need.binaries, need.words, self.failed[need.program].splitlines()[-1])
        environment = {PROGRAMS[name].variable: path for name, path in self.paths.items()}
        return environment, skipped
