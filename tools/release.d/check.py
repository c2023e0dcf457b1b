"""Tries out what was built as those would who install it, prints a row for each check, and stops at the first that fails.

Needs root on Debian x86_64; installs what it runs things with.
"""

import os
import shutil
import subprocess
import tempfile

import binary_checks
import install_checks
import laptops
import wheels
from files import Failure, read

PACKAGES = ["lintian", "mmdebstrap", "qemu-user-static", "ruby", "skopeo", "umoci", "wine", "wine64", "zstd"]
CAPTURE = "testdata/captures/k120-story/snapshot.db.zst"


class Check:
    """What was built, and a folder to try it out in."""

    def __init__(self, build, arguments):
        self.build, self.arguments = build, arguments
        self.folder = tempfile.mkdtemp(prefix="ketcd-release-")
        self.snapshot = f"{self.folder}/snapshot.db"

    def run(self, *command, **more):
        """Runs a command that must succeed; returns all that it printed."""
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
        if done.returncode:
            raise Failure(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout[-2000:]}")
        return done.stdout

    def wants(self, condition, problem):
        if not condition:
            raise Failure(problem)

    def file(self, name):
        """The path of a file of the release."""
        return f"{self.build.out}/{name}"


def check(build, arguments):
    """Runs every check."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failure("--check needs root on Debian: it installs packages there and changes its root directory")
    checks = Check(build, arguments)
    try:
        checks.run("apt-get", "install", "-y", "--no-install-recommends", *PACKAGES, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        checks.run("zstd", "-dq", f"{build.root}/{CAPTURE}", "-o", checks.snapshot)
        for what in (*binary_checks.CHECKS, *install_checks.CHECKS, *laptops.CHECKS, *wheels.CHECKS, ("a second build in another folder", second_build)):
            print(f"| {what[0]} | {what[1](checks)} |", flush=True)
    finally:
        subprocess.run(["umount", "-R", *(f"{checks.folder}/debian/{path}" for path in ("proc", "sys", "dev"))], stderr=subprocess.DEVNULL, check=False)
        # What is still mounted there is the machine's own.
        if checks.folder.encode() not in read("/proc/mounts"):
            shutil.rmtree(checks.folder, ignore_errors=True)


def second_build(checks):
    """Builds the same commit elsewhere, from nothing, and compares all files."""
    if checks.run("git", "-C", checks.build.root, "status", "--porcelain"):
        raise Failure("what is not committed cannot be built elsewhere: commit it first")
    clone = f"{checks.folder}/another/folder"
    checks.run("git", "clone", "-q", checks.build.root, clone)
    command = [f"{clone}/tools/release", "--url", checks.arguments.url or f"file://{checks.build.out}"]
    if checks.arguments.homepage:
        command += ["--homepage", checks.arguments.homepage]
    checks.run(*command, cwd=clone, env={name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"})
    sums, again = read(checks.file("SHA256SUMS")).decode(), read(f"{clone}/dist/SHA256SUMS").decode()
    checks.wants(sums == again, f"two builds differ:\n{sums}\n{again}")
    return f"{len(sums.splitlines())} files, each the same to the byte"
