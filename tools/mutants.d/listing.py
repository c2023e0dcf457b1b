"""The copy of a commit, what could be changed in it, and the sample of that."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSION = "27.1.0"
HOME = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ketcd-mutants")
# Files of tests are not what is tested.
TEST_FILES = ("tests.rs", "model.rs")


def name_of(commit):
    """A commit's short name."""
    words = ["git", "-C", ROOT, "rev-parse", "--short=8", f"{commit}^{{commit}}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"tools/mutants: {done.stderr.strip()}")
    return done.stdout.strip()


def suits(program):
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False
    return said.strip().startswith("cargo-mutants")


def cargo_mutants():
    """The path of cargo-mutants."""
    home = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "cargo-mutants")
    program = shutil.which("cargo-mutants") or f"{home}/bin/cargo-mutants"
    if not suits(program):
        # It runs for a second: what is not optimised is there sooner.
        quick = {"OPT_LEVEL": "0", "LTO": "off", "CODEGEN_UNITS": "16"}
        environment = {**os.environ, **{f"CARGO_PROFILE_RELEASE_{name}": value for name, value in quick.items()}}
        words = ["cargo", "install", f"cargo-mutants@{VERSION}", "--locked", "--quiet", "--root", home, "--target-dir", f"{home}/build"]
        if subprocess.run(words, env=environment, check=False).returncode:
            sys.exit("tools/mutants: cargo-mutants cannot be installed")
        shutil.rmtree(f"{home}/build", ignore_errors=True)
    return program


class Tree:
    """What is committed, away from the repository."""

    def __init__(self, commit):
        self.folder, self.target = os.path.join(HOME, "tree"), os.path.join(HOME, "target")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        with subprocess.Popen(["git", "-C", ROOT, "archive", commit], stdout=subprocess.PIPE) as packed:
            # With times of now: cargo compiles what is newer than its last build.
            subprocess.run(["tar", "-x", "-m", "-C", self.folder], stdin=packed.stdout, check=True)
        if packed.returncode:
            sys.exit(f"tools/mutants: {commit} cannot be unpacked")

    def patch(self, mutant, *flags):
        """Applies a change to the tree, or takes it back."""
        words = ["patch", "--silent", "--no-backup-if-mismatch", *flags, mutant.file]
        subprocess.run(words, cwd=self.folder, input=mutant.diff, text=True, check=True)


@dataclass
class Mutant:
    """A change. `name`: what it is, without its line; the number behind it tells those that are alike."""

    name: str
    file: str
    diff: str


def all_of(tree, area):
    """All mutants of an area, by the place they stand at."""
    files = [word for pattern in area.files for word in ("--file", pattern)]
    words = [cargo_mutants(), "mutants", "--no-config", "--workspace", "--list", "--json", "--dir", tree.folder, *files]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, cwd=tree.folder)
    seen, mutants = Counter(), []
    for one in json.loads(done.stdout):
        if os.path.basename(one["file"]) in TEST_FILES:
            continue
        name = f"{one['file']}: {re.sub(r'^[^ ]*:[0-9]+:[0-9]+: ', '', one['name'])}"
        seen[name] += 1
        mutants.append(Mutant(f"{name} #{seen[name]}" if seen[name] > 1 else name, one["file"], one["diff"]))
    return mutants


def sample(tree, area, seed, number):
    """Some of the mutants of an area: which ones follows from the seed and from what they are."""
    return sorted(all_of(tree, area), key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())[:number]
