"""The binaries for laptops, on which backups are read: Windows, and macOS where Zig can link for it."""

import io
import subprocess
import time
import zipfile

from build import MACOS, WINDOWS
from files import Failure, gzipped, tar, write


def write_laptops(build, documents):
    """Writes the archives for laptops, each the binary and `documents`; says which could not be linked here."""
    write_windows(build, documents)
    for architecture, target in MACOS.items():
        try:
            binary = build.binary_for(target, "ketcd")
        except Failure as failure:
            print(f"no binary for {target} is made here: {failure}; the release workflow makes it on macOS")
            continue
        write(f"{build.out}/ketcd-{build.version}-macos-{architecture}.tar.gz", gzipped(tar([("ketcd", 0o755, binary), *documents], build.when)))


def write_windows(build, documents):
    """Writes a zip with ketcd.exe, whose entries are of the commit's time."""
    binary = build.binary_for(WINDOWS, "ketcd.exe")
    packed = io.BytesIO()
    when = time.gmtime(build.when)[:6]
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, mode, data in [("ketcd.exe", 0o755, binary), *documents]:
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, mode << 16, 3
            archive.writestr(entry, data)
    write(f"{build.out}/ketcd-{build.version}-windows-amd64.zip", packed.getvalue())


# Rust's standard library takes random numbers from a library that Windows has since 7 and the Wine of Debian 12 has not.
RANDOM = """#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, (ULONG)length); }
"""


def write_random(checks):
    """Writes that library next to ketcd.exe, for Wine alone."""
    write(f"{checks.folder}/random.c", RANDOM)
    zig = [f"{checks.build.tools}/venv/bin/python", "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-shared"]
    checks.run(*zig, "-o", f"{checks.folder}/bcryptprimitives.dll", f"{checks.folder}/random.c", "-ladvapi32")


def windows_reads(checks):
    """Reads, explains and reports a snapshot with ketcd.exe under Wine, and compares with what the Linux binary prints."""
    archive = checks.file(f"ketcd-{checks.build.version}-windows-amd64.zip")
    with zipfile.ZipFile(archive) as packed:
        packed.extract("ketcd.exe", checks.folder)
    write_random(checks)
    linux = checks.build.path("amd64")
    wine = {"WINEPREFIX": f"{checks.folder}/wine", "WINEDEBUG": "-all", "HOME": checks.folder, "PATH": "/usr/bin:/bin", "TZ": "UTC"}
    commands = ("status", "get pods -A", "explain pod/lab/spread-5", "report --out -")
    for command in commands:
        words = ["-f", "snapshot.db", *command.split()]
        ours = subprocess.run([linux, *words], cwd=checks.folder, capture_output=True, check=False, env={"TZ": "UTC"})
        theirs = subprocess.run(["wine", f"{checks.folder}/ketcd.exe", *words], cwd=checks.folder, capture_output=True, check=False, env=wine)
        checks.wants(theirs.returncode == ours.returncode, f"ketcd.exe {command}: exit code {theirs.returncode}: {theirs.stderr[-1000:]}")
        checks.wants(theirs.stdout.replace(b"\r\n", b"\n") == ours.stdout, f"ketcd.exe {command} prints something else: {theirs.stdout[:500]}")
    return f"{', '.join(command.split()[0] for command in commands)}: the same bytes as on Linux"


CHECKS = [("ketcd.exe under Wine, from a snapshot", windows_reads)]
