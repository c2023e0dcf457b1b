"""The load of `tools/test --busy`: four busy loops, and once everything stopped for five seconds."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

LOOPS = 4
STOPPED = 5
# The stop comes within so many seconds.
WITHIN = 120


class Busy:
    """Busy loops, until they are ended."""

    def __init__(self, seed, group):
        seed = seed or int(time.time())
        self.after = random.Random(seed).uniform(5, WITHIN)
        print(f"tools/test: {LOOPS} busy loops; all tests are stopped for {STOPPED} s after {self.after:.1f} s (--busy {seed})", flush=True)
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL) for _ in range(LOOPS)]
        self.ended = threading.Event()
        threading.Thread(target=self.stop, args=(group,), daemon=True).start()

    def stop(self, group):
        if self.ended.wait(self.after):
            return
        os.killpg(group, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.killpg(group, signal.SIGCONT)
        print("tools/test: all tests were stopped, and go on", flush=True)

    def end(self):
        self.ended.set()
        for loop in self.loops:
            loop.kill()
            loop.wait()
