"""Compiles the tests: one run of cargo for everything."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Lints and tests share one set of features, so that nothing is compiled twice.
FEATURES = "ketcd/parquet"


@dataclass
class Binary:
    """A test executable: the package and target it is of, and the folder it runs in."""

    path: str
    package: str
    target: str
    folder: str
    manifest: str

    @property
    def name(self):
        return self.target if self.package == "ketcd" else f"{self.package} {self.target}"


def selection(asked):
    """What of the workspace is compiled."""
    if not asked.package:
        chosen = ["--workspace"]
    else:
        chosen = ["--package", asked.package if asked.package.startswith("ketcd") else f"ketcd-{asked.package}"]
    for name in asked.only:
        chosen += ["--test", name]
    return chosen + (["--features", FEATURES] if asked.package in (None, "ketcd") else [])


def environment(asked, measured):
    """What cargo is called with, the same for executables and examples: else it compiles all that is ours anew."""
    # Clippy is a compiler that also lints: what it compiles is not compiled again.
    lints = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver"} if asked.lint else {}
    # The extension of the Python package is compiled for any Python: none of this machine is asked, and none is linked.
    python = {"PYO3_NO_PYTHON": "1", "PYO3_BUILD_EXTENSION_MODULE": "1"}
    return {**os.environ, **lints, **python, **(measured.environment() if measured else {})}


def build(asked, measured):
    """Compiles; ends the run where that fails. Returns the executables."""
    words = ["cargo", "test", *selection(asked), "--no-run", "--message-format", "json"]
    begun = time.monotonic()
    child = subprocess.Popen(words, cwd=ROOT, env=environment(asked, measured), stdout=subprocess.PIPE, text=True)
    binaries, warnings = [], 0
    for line in child.stdout:
        message = json.loads(line)
        if message["reason"] == "compiler-message":
            sys.stderr.write(message["message"]["rendered"] or "")
            warnings += message["message"]["level"] == "warning"
        elif message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            binaries.append(binary(message))
    _, status, usage = os.wait4(child.pid, 0)
    if measured:
        measured.compiled(time.monotonic() - begun, usage.ru_utime + usage.ru_stime)
    if status:
        sys.exit("tools/test: the tests do not compile")
    if asked.lint and warnings:
        sys.exit("tools/test: the compiler and Clippy warn of what is above")
    return binaries


def binary(message):
    manifest = message["manifest_path"]
    package = message["package_id"].split("#")[-1].split("@")[0] if "@" in message["package_id"] else os.path.basename(os.path.dirname(manifest))
    return Binary(message["executable"], package, message["target"]["name"], os.path.dirname(manifest), manifest)


class DocTests:
    """The examples in documentation, compiled and run by cargo."""

    def __init__(self, asked, measured):
        self.child = None
        if not asked.only and not asked.filters:
            words = ["cargo", "test", "--doc", "--quiet", *selection(asked)]
            self.child = subprocess.Popen(
                words, cwd=ROOT, env=environment(asked, measured), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

    def end(self):
        """Whether they passed; what they printed is shown."""
        if not self.child:
            return True
        printed, _ = self.child.communicate()
        lines = [line for line in printed.splitlines() if line.startswith("test result") and not line.startswith("test result: ok. 0 passed")]
        print("\n".join(lines) if self.child.returncode == 0 else printed, flush=True)
        return self.child.returncode == 0
