"""The binaries: static for Linux on two architectures, and for laptops; by tools of one version each."""

import datetime
import json
import os
import shutil
import subprocess
import sys
import venv

from files import Failure, read, write

# Architectures by the names that Go, Debian and OCI have for them, with Rust's targets.
ARCHITECTURES = {"amd64": "x86_64-unknown-linux-musl", "arm64": "aarch64-unknown-linux-musl"}

# Targets of wheels for Linux with glibc; those for musl are the same as of binaries.
WHEELS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]

# Targets of laptops.
WINDOWS = "x86_64-pc-windows-gnu"
MACOS = {"arm64": "aarch64-apple-darwin", "amd64": "x86_64-apple-darwin"}

# The same versions make the same bytes. Zig is the C compiler and linker for both architectures, and brings musl's headers and libunwind.
TOOLCHAIN = "1.95.0"
FROM_PYPI = ["cargo-zigbuild==0.24.0", "ziglang==0.17.1", "certifi==2026.7.22", "maturin==1.16.0"]
FROM_CRATES = {"cargo-deb": "3.8.0", "cargo-cyclonedx": "0.5.9"}

# What a binary may weigh: 28.9 MB for Linux on x86_64, 27.3 MB for Windows when this was set.
MOST_BYTES = 30_000_000


class Build:
    """One release of the sources in `root`, written to `out`."""

    def __init__(self, root, out, homepage):
        self.root, self.out, self.homepage = root, out, homepage
        self.target = os.environ.get("CARGO_TARGET_DIR") or f"{root}/target"
        self.tools = f"{self.target}/release-tools"
        # Cargo.toml names it in what the Debian package consists of.
        self.parts = f"{root}/target/release-parts"
        self.home = os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo")
        self.when = int(os.environ.get("SOURCE_DATE_EPOCH") or self.run(["git", "log", "-1", "--format=%ct"]))
        package = json.loads(self.run(["cargo", "metadata", "--no-deps", "--format-version=1"]))["packages"]
        self.package = next(found for found in package if found["name"] == "ketcd")
        self.version = self.package["version"]

    def run(self, command, env=None, cwd=None):
        """Runs a command; returns what it printed."""
        try:
            done = subprocess.run(command, cwd=cwd or self.root, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, check=False)
        except FileNotFoundError:
            raise Failure(f"{command[0]} is not installed") from None
        if done.returncode:
            raise Failure(f"this failed with exit code {done.returncode}: {' '.join(command)}")
        return done.stdout.decode()

    def prepare(self):
        """Installs the tools, each once, and empties the folders that are written to."""
        if not any(line.startswith(TOOLCHAIN) for line in self.run(["rustup", "toolchain", "list"]).splitlines()):
            self.run(["rustup", "toolchain", "install", TOOLCHAIN, "--profile", "minimal", "--no-self-update"])
        self.run(["rustup", "target", "add", "--toolchain", TOOLCHAIN, *ARCHITECTURES.values(), *WHEELS, WINDOWS, *MACOS.values()])
        stamp = f"{self.tools}/pypi.txt"
        if not os.path.exists(stamp) or read(stamp).decode().split() != FROM_PYPI:
            venv.create(f"{self.tools}/venv", with_pip=True, clear=True)
            self.run([f"{self.tools}/venv/bin/pip", "install", "--quiet", *FROM_PYPI])
            write(stamp, "\n".join(FROM_PYPI))
        for name, version in FROM_CRATES.items():
            arguments = ["--locked", "--quiet", "--root", self.tools, "--target-dir", f"{self.tools}/build"]
            # They run for seconds: what is not optimised is there sooner.
            quick = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_LTO": "off"}
            self.run(["cargo", f"+{TOOLCHAIN}", "install", f"{name}@{version}", *arguments], env=quick)
        for folder in (self.out, self.parts):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)

    def env(self, target=None, unwinds=False):
        """The environment of every tool: what depends on the machine is mapped away. `target`: what is built for, where a binary is; `unwinds`: whether a
        panic is to be survived, as in Python."""
        paths = {self.root: "/ketcd", self.home: "/cargo", self.target: "/ketcd/target", self.sysroot(): "/rust"}
        # Of several mappings that fit, rustc takes the last.
        longest_last = sorted(paths.items(), key=lambda path: len(path[0]))
        # A panic ends the binary, so nothing is ever unwound; Windows wants the tables all the same.
        unwinding = [] if target == WINDOWS or unwinds else ["-Cforce-unwind-tables=no"]
        # What Python loads is linked with its C library.
        linking = ["-Ctarget-feature=-crt-static"] if unwinds and str(target).endswith("-musl") else []
        flags = [*unwinding, *linking, *(f"--remap-path-prefix={path}={name}" for path, name in longest_last)]
        # mimalloc says when it was compiled.
        c_flags = ["-Wno-builtin-macro-redefined", '-D__DATE__="unknown"', '-D__TIME__="unknown"']
        c_flags += (f"-ffile-prefix-map={path}={name}" for path, name in longest_last)
        return {
            "PATH": f"{self.tools}/venv/bin:{self.tools}/bin:{os.environ['PATH']}",
            "RUSTUP_TOOLCHAIN": TOOLCHAIN,
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
            "CARGO_INCREMENTAL": "0",
            "CARGO_TARGET_DIR": self.target,
            "CFLAGS": " ".join(c_flags),
            "SOURCE_DATE_EPOCH": str(self.when),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
        }

    def time(self):
        """When the sources were committed, as RFC 3339 has it."""
        return datetime.datetime.fromtimestamp(self.when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def sysroot(self):
        return self.run(["rustc", f"+{TOOLCHAIN}", "--print", "sysroot"]).strip()

    def path(self, architecture):
        """Where a binary is."""
        return f"{self.target}/{ARCHITECTURES[architecture]}/dist/ketcd"

    def binary(self, architecture):
        """Builds a static binary for Linux with every feature, and returns its bytes."""
        data = self.binary_for(ARCHITECTURES[architecture], "ketcd")
        if b"/ld-linux" in data or b"/ld-musl" in data:
            raise Failure(f"{self.path(architecture)} is not static: it names a dynamic linker")
        return data

    def binary_for(self, target, name):
        """Builds a binary with every feature, and returns its bytes."""
        print(f"building ketcd {self.version} for {target}", file=sys.stderr)
        arguments = ["--locked", "--profile", "dist", "--all-features", "--bin", "ketcd", "--target", target]
        self.run(["cargo", "zigbuild", *arguments], env=self.env(target))
        path = f"{self.target}/{target}/dist/{name}"
        data = read(path)
        if len(data) > MOST_BYTES:
            raise Failure(f"{path} has {len(data)} bytes, more than {MOST_BYTES}")
        for folder in (self.root, self.home, self.target):
            if folder.encode() in data:
                raise Failure(f"{path} names a folder of this machine: {folder}")
        return data

    def write_completions(self):
        """Writes the scripts that complete words in shells, by the binary of this machine's architecture."""
        host = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
        for shell, name in (("bash", "ketcd"), ("zsh", "_ketcd"), ("fish", "ketcd.fish")):
            write(f"{self.parts}/completions/{name}", self.run([self.path(host), "completion", shell]))
