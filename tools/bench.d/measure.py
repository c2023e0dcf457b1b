"""Runs a command for tools/bench and says what it took."""

import os
import re
import subprocess
import time
from dataclasses import dataclass

# How often the memory of a running command is looked at.
INTERVAL = 0.004


@dataclass
class Run:
    """Seconds of time and of all cores, bytes of heap at the peak, and how the command ended."""

    wall: float
    cpu: float
    heap: int
    code: int

    def cell(self):
        ended = "" if self.code in (0, 1) else f" (exit {self.code})"
        return f"{self.wall:.2f} s, {self.cpu:.2f} s, {self.heap / 1e6:.0f} MB{ended}"


def run(words, environment=None):
    """Runs a command whose output nobody reads.

    Its heap is `RssAnon`: the files that ketcd reads are mapped, and what is resident of them counts into the peak that wait4 tells, though the
    kernel may take it back at any time. `RssAnon` has no peak of its own, so it is looked at again and again.
    """
    begun = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=nowhere, stderr=nowhere, env=environment)
    heap = 0
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        try:
            with open(f"/proc/{child.pid}/status") as text:
                found = re.search(r"^RssAnon:\s+(\d+) kB", text.read(), re.MULTILINE)
            heap = max(heap, int(found[1]) * 1024 if found else 0)
        except OSError:
            pass
        time.sleep(INTERVAL)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Run(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, heap, child.returncode)


def median(runs):
    """The run whose time is in the middle, with the most heap of all."""
    middle = sorted(runs, key=lambda one: one.wall)[len(runs) // 2]
    return Run(middle.wall, middle.cpu, max(one.heap for one in runs), middle.code)


class Ketcd:
    """A build of ketcd, with a cache directory of its own."""

    def __init__(self, binary, cache):
        self.binary = os.path.abspath(binary)
        os.makedirs(cache, exist_ok=True)
        self.environment = {**os.environ, "XDG_CACHE_HOME": cache}

    def run(self, words):
        return run([self.binary, *words], self.environment)

    def output(self, words):
        done = subprocess.run([self.binary, *words], env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode > 1:
            raise SystemExit(f"tools/bench: {' '.join(words)} ended with {done.returncode}")
        return done.stdout
