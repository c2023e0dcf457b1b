"""The wheels: the library for Python and the command in one, by one for every CPython from 3.10 on; and the source distribution for what takes no such wheel."""

import glob
import io
import os
import shutil
import sys
import tarfile
import time
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256

from files import Failure, read, write

# Targets, with the oldest C library that a wheel runs with. macOS and Windows have theirs built by the release workflow, on their own machines.
TARGETS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_17",
    "aarch64-unknown-linux-gnu": "manylinux_2_17",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}

# PyPI takes no larger file.
MOST_BYTES = 100_000_000


def write_wheels(build):
    """Writes a wheel for each target, with the licences of all that is linked, and the source distribution."""
    from notices import licences

    text = licences(build, "ketcd-python", list(TARGETS))
    manifest = ["--manifest-path", f"{build.root}/crates/python/Cargo.toml"]
    for target, compatibility in TARGETS.items():
        print(f"building the wheel of ketcd {build.version} for {target}", file=sys.stderr)
        folder = f"{build.parts}/wheels/{target}"
        arguments = ["--locked", "--profile", "wheel", "--all-features", "--target", target, "--compatibility", compatibility, "--zig"]
        build.run(["maturin", "build", *manifest, *arguments, "--out", folder], env=build.env(target, unwinds=True))
        [path] = glob.glob(f"{folder}/*.whl")
        data = packed(path, build.when, {"LICENSES.md": text.encode()})
        if len(data) > MOST_BYTES:
            raise Failure(f"{path} has {len(data)} bytes, more than PyPI takes: {MOST_BYTES}")
        write(f"{build.out}/{os.path.basename(path)}", data)
    build.run(["maturin", "sdist", *manifest, "--out", f"{build.parts}/sdist"], env=build.env())
    [path] = glob.glob(f"{build.parts}/sdist/*.tar.gz")
    with tarfile.open(path) as archive:
        packed_data = [name for name in archive.getnames() if "/testdata/" in name]
    if packed_data:
        raise Failure(f"{path} has recorded clusters in it: {packed_data[0]}")
    shutil.copy(path, build.out)


def packed(path, when, licences):
    """Returns a wheel with more licences in it, its entries in order and of the commit's time."""
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    [record] = [name for name in files if name.endswith(".dist-info/RECORD")]
    files.update({f"{os.path.dirname(record)}/licenses/{name}": data for name, data in licences.items()})
    files[record] = "".join(recorded(name, data) for name, data in sorted(files.items()) if name != record).encode() + f"{record},,\n".encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            entry = zipfile.ZipInfo(name, time.gmtime(when)[:6])
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            wheel.writestr(entry, data)
    return out.getvalue()


def recorded(name, data):
    """A line of RECORD."""
    digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def wheel_answers(checks):
    """Installs the wheel of this machine, runs the tests of the Python package with it, and holds how long an import takes."""
    [path] = [path for path in glob.glob(f"{checks.build.out}/ketcd-*manylinux*_x86_64.whl")]
    said = checks.run(f"{checks.build.root}/tools/python", "--wheel", path)
    took = next(line for line in said.splitlines() if line.startswith("import ketcd"))
    return f"{len(read(path)) / 1e6:.1f} MB; its tests pass; {took}"


def sdist_builds(checks):
    """Builds a wheel of the source distribution as pip does where no wheel fits, in a folder that has nothing else, and asks it something."""
    [path] = glob.glob(f"{checks.build.out}/ketcd-{checks.build.version}.tar.gz")
    folder, python = f"{checks.folder}/sdist", f"{checks.folder}/sdist/venv/bin/python"
    checks.run(sys.executable, "-m", "venv", f"{folder}/venv")
    # Without optimisation: that is the wheels' own.
    env = {**os.environ, "CARGO_TARGET_DIR": f"{folder}/target", "MATURIN_PEP517_ARGS": "--locked --profile dev"}
    checks.run(python, "-m", "pip", "install", "--no-deps", "--no-binary=ketcd", path, cwd=folder, env=env)
    said = checks.run(python, "-c", f"import ketcd; print(ketcd.open({checks.snapshot!r}).get('pod/lab/ubuntu')['metadata']['name'])", cwd=folder)
    checks.wants(said.strip() == "ubuntu", said)
    return f"{len(read(path)) / 1e6:.1f} MB; pip builds it"


CHECKS = [("the wheel, in a Python of its own", wheel_answers), ("the source distribution", sdist_builds)]
