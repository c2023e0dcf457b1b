"""What is in the binaries, and under which licences."""

import glob
import json
import os
import re
import shutil

from build import ARCHITECTURES, TOOLCHAIN
from files import Failure, read, write

# Names under which crates carry their licences.
LICENCE_FILES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense|authors)([._-].*)?$", re.IGNORECASE)

# C sources inside of crates that have licences of their own.
BUNDLED = {"zstd-sys": "zstd/LICENSE", "libmimalloc-sys": "c_src/mimalloc/v3/LICENSE"}

# Crates whose manifests say no licence: the one whose text they carry.
BY_TEXT = {"libyaml-safer": "MIT"}

# What is linked beside crates: the toolchain's own documents say more.
BESIDES = f"""\
- The Rust standard library {TOOLCHAIN}: MIT OR Apache-2.0
- musl, the C library: MIT
- LLVM's libunwind and compiler-rt: Apache-2.0 WITH LLVM-exception
"""


def linked(build, targets, package="ketcd"):
    """Returns the crates that are linked into a binary for one of these targets: (name, version) to cargo's metadata."""
    found = {}
    for target in targets:
        arguments = ["--locked", "--all-features", "-p", package, "-e", "normal,no-proc-macro", "--prefix", "none", "--target", target, "-f", "{p}"]
        tree = build.run(["cargo", "tree", *arguments], env=build.env())
        metadata = json.loads(build.run(["cargo", "metadata", "--locked", "--all-features", "--format-version=1"], env=build.env()))
        packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
        for line in tree.splitlines():
            name, version = line.split()[:2]
            found[name, version[1:]] = packages[name, version[1:]]
    return dict(sorted(found.items()))


def write_licences(build):
    """Writes the licences of everything linked into the command."""
    text = licences(build, "ketcd", ARCHITECTURES.values())
    write(f"{build.parts}/LICENSES.md", text)
    write(f"{build.out}/LICENSES.md", text)


def licences(build, package, targets):
    """Returns the licences of everything linked into a package, each text once, with the crates that are under it."""
    crates = {of: package for of, package in linked(build, targets, package).items() if package["source"]}
    texts = {}
    without = []
    lines = ["# Licences of what is linked into ketcd", "", "ketcd itself is under the Apache License 2.0 (LICENSE). Its binary contains:", ""]
    for (name, version), package in crates.items():
        own = licence_texts(package)
        licence = package["license"] or (BY_TEXT.get(name) if own else None)
        if not licence:
            raise Failure(f"the crate {name} {version} does not say its licence")
        lines.append(f"- {name} {version}: {licence}")
        if not own:
            without.append((name, version, package))
        for text in own:
            texts.setdefault(text, []).append(f"{name} {version}")
    lines += ["", BESIDES]
    if without:
        lines += ["These crates carry no text of their licence; what they name is among those below:", ""]
        lines += [f"- {name} {version}, by {', '.join(package['authors']) or package['repository']}" for name, version, package in without]
    for text, of in sorted(texts.items(), key=lambda entry: entry[1]):
        lines += ["", f"## {', '.join(of)}", "", "```text", text, "```"]
    return "\n".join(lines) + "\n"


def licence_texts(package):
    """Returns the texts that a crate carries."""
    folder = os.path.dirname(package["manifest_path"])
    paths = sorted(path for path in glob.glob(f"{folder}/*") if LICENCE_FILES.match(os.path.basename(path)) and os.path.isfile(path))
    if package["name"] in BUNDLED:
        paths.append(f"{folder}/{BUNDLED[package['name']]}")
    return [read(path).decode("utf-8", "replace").strip().replace("\r\n", "\n") for path in paths]


def write_bill(build, architecture):
    """Writes the bill of materials of one binary. cargo-cyclonedx writes it beside each crate's manifest, so it works on a copy of the manifests."""
    copy = f"{build.parts}/bill"
    shutil.rmtree(copy, ignore_errors=True)
    listed = build.run(["git", "ls-files", "--", "*.toml", "Cargo.lock", "*.rs"]).splitlines()
    for path in listed:
        os.makedirs(os.path.dirname(f"{copy}/{path}"), exist_ok=True)
        shutil.copy(f"{build.root}/{path}", f"{copy}/{path}")
    arguments = ["--format", "json", "--spec-version", "1.5", "--target", ARCHITECTURES[architecture], "--all-features", "--no-build-deps"]
    build.run(["cargo", "cyclonedx", *arguments, "--override-filename", "bill"], env=build.env(), cwd=copy)
    bill = json.loads(read(f"{copy}/bill.json").decode().replace(copy, "/ketcd"))
    found = {(component["name"], component["version"]) for component in bill["components"]}
    missing = [f"{name} {version}" for name, version in linked(build, [ARCHITECTURES[architecture]]) if name != "ketcd" and (name, version) not in found]
    if missing:
        raise Failure(f"the bill of materials lacks {', '.join(missing)}")
    write(f"{build.out}/ketcd-{build.version}-linux-{architecture}.cdx.json", json.dumps(bill, indent=2, sort_keys=True) + "\n")
    shutil.rmtree(copy)
