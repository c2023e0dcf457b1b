"""Finds a program of the catalogue, or installs it by the first way that works."""

import os
import shutil
import subprocess
import sys
import tempfile


class Missing(Exception):
    """A program that is not there and cannot be installed; the text says what to do."""


def cache():
    """The folder of what was installed."""
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("KETCD_TEST_CACHE") or os.path.join(user, "ketcd-tests")


def found(program):
    """The path of a program that is there."""
    named = os.environ.get(program.variable)
    if named:
        if not program.suits(named):
            raise Missing(f"{program.variable} is {named}, which is not {program.what}")
        return named
    for name in program.names:
        path = shutil.which(name)
        if path and program.suits(path):
            return path
    cached = os.path.join(cache(), program.name, program.file)
    return cached if os.path.exists(cached) and program.suits(cached) else None


def ways(program, system):
    """The ways to install it that are open here."""
    return [way for way in program.ways if system or not way.is_system]


def plan(program, system):
    """One line: where it is, or what would be done."""
    path = found(program)
    if path:
        return f"{program.name}: {path}"
    open_ways = ways(program, system)
    if not open_ways:
        return f"{program.name}: not there, and nothing is installed into the system without --system"
    where = "the system" if open_ways[0].is_system else os.path.join(cache(), program.name)
    return f"{program.name}: {open_ways[0].says}, into {where}"


def install(program, system=False):
    """The path of a program, installed if need be."""
    path = found(program)
    if path:
        return path
    home = os.path.join(cache(), program.name)
    for way in ways(program, system):
        os.makedirs(cache(), exist_ok=True)
        # Put in place at once: two that install the same do not meet, and what is half there is never used.
        with tempfile.TemporaryDirectory(dir=cache(), prefix=f".{program.name}-") as folder:
            try:
                way.run(folder)
            except (subprocess.CalledProcessError, OSError, Missing) as error:
                print(f"tools/program: {program.name} by {way.says}: {error}", file=sys.stderr)
                continue
            made = os.path.join(folder, program.file)
            if not way.is_system and os.path.exists(made) and program.suits(made):
                shutil.rmtree(home, ignore_errors=True)
                os.mkdir(home)
                top = program.file.split("/")[0]
                shutil.move(os.path.join(folder, top), os.path.join(home, top))
        path = found(program)
        if path:
            return path
    raise Missing(f"the tests need {program.what}: {program.advice}, or name it in {program.variable}")
