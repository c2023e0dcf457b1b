"""Runs ketcd for tools/faults, stamps what it says, and gathers the table."""

import json
import queue
import re
import subprocess
import threading
import time

# Objects of the capture k120-story.
COMMANDS = [
    "status",
    "ls pods -A",
    "get pod/lab/ubuntu -o yaml",
    "history pod/lab/ubuntu",
    "blame pod/lab/ubuntu",
    "timeline pod/lab/ubuntu",
    "diff pod/lab/ubuntu --rev 400..500",
    "explain pod/lab/ubuntu",
]
# The answers of these do not depend on the moment.
SETTLED = ("get", "history", "blame", "timeline", "diff", "explain")
WATCH = "watch pods -A -o ndjson"
# No command may take longer.
LIMIT = 90


class Running:
    """A ketcd that runs; its lines with the seconds since `begun`."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.begun = time.monotonic()
        self.stdout, self.stderr, self.new = [], [], {"out": queue.Queue(), "err": queue.Queue()}
        for name, stream, lines in (("out", self.process.stdout, self.stdout), ("err", self.process.stderr, self.stderr)):
            threading.Thread(target=self.read, args=(name, stream, lines), daemon=True).start()

    def read(self, name, stream, lines):
        for line in stream:
            entry = (time.monotonic(), line.rstrip("\n"))
            lines.append(entry)
            self.new[name].put(entry)
        self.new[name].put(None)

    def wait(self, limit=LIMIT):
        """The exit code; none where it did not end."""
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        for name in ("out", "err"):
            while self.new[name].get(timeout=10) is not None:
                pass
        return code

    def says(self, pattern, limit=LIMIT, stream="err"):
        """Waits for a line; returns the seconds since `begun`, and the line."""
        deadline = time.monotonic() + limit
        while True:
            try:
                entry = self.new[stream].get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                return None
            if entry is None:
                return None
            if re.search(pattern, entry[1]):
                return entry[0] - self.begun, entry[1]

    def end(self):
        self.process.kill()
        self.process.wait()


class Ketcd:
    """The binary, and what every command answers while all is well."""

    def __init__(self, path, here):
        self.path, self.capture = path, f"{here}/testdata/captures/k120-story/snapshot.db.zst"
        self.recorded = None

    def start(self, flags, command):
        return Running([self.path, *command.split(" "), *flags])

    def changes(self):
        """The capture, a list of operations of etcd's for each revision."""
        if self.recorded is None:
            words = ["history", "--all", "--objects", "-o", "ndjson", "--show-secrets", "--show-managed-fields", "-f", self.capture]
            found = subprocess.run([self.path, *words], check=True, capture_output=True, text=True)
            self.recorded = [json.loads(line) for line in found.stdout.splitlines()]
        return self.recorded

    def answers(self, flags):
        """What the commands answer: command to exit code and standard output."""
        found = {}
        for command in COMMANDS:
            running = self.start(flags, command)
            code = running.wait()
            found[command] = (code, [line for _, line in running.stdout])
        return found


class Table:
    """The rows, and what did not go as it should."""

    def __init__(self):
        self.release = self.fault = None
        self.wrong, self.begun = 0, False
        # Of each fault: releases, longest time, sentences, exit codes.
        self.faults = {}

    def row(self, command, seconds, sentence, code, wrong=None):
        if not self.begun:
            print("| fault | release | command | s | sentence | exit |\n|---|---|---|---|---|---|")
            self.begun = True
        sentence = re.sub(r"127\.0\.0\.1:\d+", "HOST:PORT", sentence or "").removeprefix("ketcd: ").replace("|", "\\|")
        sentence = re.sub(r"/[^ ]*/ketcd-faults\.[^/]*/", "", sentence)
        mark = "" if wrong is None else f" **{wrong}**"
        shown = "–" if seconds is None else f"{seconds:.1f}"
        print(f"| {self.fault} | {self.release} | `{command}` | {shown} | {sentence}{mark} | {'–' if code is None else code} |", flush=True)
        self.wrong += wrong is not None
        releases, longest, sentences, codes = self.faults.setdefault(self.fault, ([], [0.0], [], []))
        longest[0] = max(longest[0], seconds or 0.0)
        for known, new in ((releases, self.release), (sentences, sentence), (codes, code)):
            if new is not None and new not in known:
                known.append(new)

    def end(self):
        """A row for each fault."""
        print("\n| fault | releases | s, at most | sentences | exit |\n|---|---|---|---|---|")
        for fault, (releases, longest, sentences, codes) in self.faults.items():
            said = "; ".join(f"`{sentence}`" for sentence in sentences if sentence and "answers as before" not in sentence) or "answers as before"
            print(f"| {fault} | {', '.join(releases)} | {longest[0]:.1f} | {said} | {', '.join(map(str, sorted(codes)))} |")
        if self.wrong:
            print(f"{self.wrong} rows are not as they should be", flush=True)
        return 1 if self.wrong else 0
