"""Runs the test executables: those that mostly wait from the start and beside the others, which compute one or two at a time."""

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import load

# Executables whose tests wait for etcds, servers and browsers, and how many of their tests run at a time.
WAITING = {"live": 12, "serve": 6, "web": 2}
# Signals that tests send, and that whoever starts a run may have told all below it to ignore (nohup, a shell's `&`). What a run starts is told nothing:
# a handler does not outlive exec.
SENT = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
# A run in which no test begins or ends for so many seconds hangs.
HANGS = 600
CORES = os.cpu_count() or 2
SEED = "PROPTEST_RNG_SEED"


@dataclass
class Run:
    """What an executable did: seconds of wall time and of all cores, and its tests with their seconds."""

    binary: object
    threads: int
    wall: float = 0
    cpu: float = 0
    tests: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)
    filtered: int = 0
    is_whole: bool = False
    running: set = field(default_factory=set)


@dataclass
class Result:
    """All of them, and what was not run."""

    runs: list
    wall: float = 0
    hang: str = ""

    def is_good(self):
        return not self.hang and all(run.is_whole and not run.failed for run in self.runs)

    def tell(self, skipped, is_documented):
        """The last lines: what failed, what was not run, and the count."""
        for run in self.runs:
            for name in run.failed:
                print(f"FAILED {run.binary.name} {name}")
            if not run.is_whole and not run.failed:
                print(f"FAILED {run.binary.name}: it ended in the middle, in {', '.join(sorted(run.running)) or 'no test'}")
        if self.hang:
            print(f"FAILED {self.hang}")
        if not is_documented:
            print("FAILED an example in the documentation of a library: above, behind `test result`")
        for reason in skipped.reasons:
            print(f"not run: {reason}")
        failed = sum(len(run.failed) + (not run.is_whole and not run.failed) for run in self.runs) + (not is_documented)
        count = sum(len(run.tests) for run in self.runs)
        print(f"{count - sum(len(run.failed) for run in self.runs)} passed, {failed} failed, {sum(run.filtered for run in self.runs)} skipped")


def seed(asked):
    """What the cases of properties follow from: the same at each run, but for `--all`, which looks at others each time."""
    if not asked.all:
        return "48"
    chosen = str(random.getrandbits(63))
    if SEED not in os.environ:
        print(f"tools/test: the cases of properties can be made again by {SEED}={chosen}", flush=True)
    return chosen


class Runner:
    """Executables under way, in one process group."""

    def __init__(self, environment, skipped, asked):
        for sent in SENT:
            if signal.getsignal(sent) == signal.SIG_IGN:
                signal.signal(sent, lambda *_: None)
        self.environment = {SEED: seed(asked), **os.environ, **environment, "RUSTC_BOOTSTRAP": "1"}
        self.skipped, self.filters = skipped, asked.filters
        self.last, self.lock, self.active = time.monotonic(), threading.Lock(), []
        # The group lives as long as its leader, whatever ends before.
        self.leader = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], process_group=0, stdin=subprocess.DEVNULL)

    def words(self, run):
        words = [run.binary.path, "-Zunstable-options", "--format", "json", "--report-time", "--test-threads", str(run.threads)]
        for word in self.skipped.words.get(run.binary.target, []) + self.skipped.words.get("", []):
            words += ["--skip", word]
        return words + self.filters

    def run(self, run):
        """Runs one to its end."""
        environment = {**self.environment, "CARGO_MANIFEST_DIR": run.binary.folder}
        begun = time.monotonic()
        child = subprocess.Popen(
            self.words(run), cwd=run.binary.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace",
            process_group=self.leader.pid,
        )
        with self.lock:
            self.active.append(run)
        for line in child.stdout:
            self.last = time.monotonic()
            self.take(run, line)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        run.wall, run.cpu = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
        with self.lock:
            self.active.remove(run)
        verdict = "ok" if run.is_whole and not run.failed else "FAILED"
        print(
            f"test result: {verdict}. {len(run.tests) - len(run.failed)} passed; {len(run.failed)} failed; 0 ignored; {run.filtered} filtered out;"
            f" {run.binary.name}, {run.wall:.1f} s, {run.cpu:.1f} s of CPU", flush=True,
        )

    def take(self, run, line):
        try:
            event = json.loads(line)
        except ValueError:
            print(f"{run.binary.name}: {line}", end="")
            return
        name = event.get("name")
        if event["type"] == "suite":
            run.is_whole = event["event"] != "started"
            run.filtered = event.get("filtered_out", 0)
        elif event["event"] == "started":
            run.running.add(name)
        elif event["event"] in ("ok", "failed"):
            run.running.discard(name)
            run.tests[name] = event.get("exec_time", 0)
            if event["event"] == "failed":
                run.failed[name] = event.get("stdout", "")
                print(f"---- {run.binary.name} {name}\n{event.get('stdout', '')}", flush=True)

    def watch(self, result, ended):
        """Ends what hangs."""
        while not ended.wait(1):
            if time.monotonic() - self.last > HANGS:
                with self.lock:
                    names = [f"{run.binary.name} {name}" for run in self.active for name in run.running]
                result.hang = f"no test has begun or ended for {HANGS} s; under way: {', '.join(names) or 'none'}"
                self.end()
                return

    def end(self):
        """Ends all that is left, etcds too."""
        try:
            os.killpg(self.leader.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(binaries, asked, environment, skipped):
    """Runs all executables; returns what they did."""
    runs = [Run(binary, WAITING.get(binary.target, CORES)) for binary in binaries if "" not in skipped.words.get(binary.target, [])]
    result, runner, ended = Result(runs), Runner(environment, skipped, asked), threading.Event()
    waiting = [run for run in runs if run.binary.target in WAITING]
    computing = queue.SimpleQueue()
    # The larger ones first, so that the last is a small one.
    for one in sorted((run for run in runs if run not in waiting), key=lambda run: -os.path.getsize(run.binary.path)):
        computing.put(one)

    def compute():
        while not result.hang:
            try:
                one = computing.get_nowait()
            except queue.Empty:
                return
            runner.run(one)

    threads = [threading.Thread(target=runner.run, args=(one,)) for one in waiting] + [threading.Thread(target=compute) for _ in range(CORES)]
    begun = time.monotonic()
    busy = load.Busy(asked.busy, runner.leader.pid) if asked.busy is not None else None
    for thread in threads:
        thread.start()
    threading.Thread(target=runner.watch, args=(result, ended), daemon=True).start()
    try:
        for thread in threads:
            thread.join()
    finally:
        ended.set()
        if busy:
            busy.end()
        runner.end()
    result.wall = time.monotonic() - begun
    return result
