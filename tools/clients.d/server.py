"""`ketcd serve` while a client reads from it, and what memory that takes."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time


class Server:
    """A server on a snapshot; `kubeconfig` leads to it, `heap` is the most it took, in bytes, `cpu` the seconds it computed."""

    def __init__(self, ketcd, snapshot):
        self.command = [ketcd, "-f", snapshot, "--show-secrets", "serve"]

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="ketcd-clients.")
        self.kubeconfig = f"{self.folder}/kubeconfig"
        self.process = subprocess.Popen(
            [*self.command, "--kubeconfig", self.kubeconfig], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.stderr = []
        threading.Thread(target=lambda: self.stderr.extend(self.process.stderr), daemon=True).start()
        begun = time.monotonic()
        while not os.path.exists(self.kubeconfig):
            if self.process.poll() is not None or time.monotonic() - begun > 60:
                self.__exit__()
                raise SystemExit(f"serve does not start: {''.join(self.stderr)}")
            time.sleep(0.02)
        self.heap = self.cpu = 0
        threading.Thread(target=self.measure, daemon=True).start()
        return self

    def measure(self):
        while self.process.poll() is None:
            try:
                with open(f"/proc/{self.process.pid}/status") as status:
                    # Without the pages of the mapped file.
                    anonymous = next((line for line in status if line.startswith("RssAnon:")), "RssAnon: 0 kB")
                with open(f"/proc/{self.process.pid}/stat") as status:
                    times = status.read().rpartition(")")[2].split()[11:13]
            except OSError:
                return
            self.heap = max(self.heap, int(anonymous.split()[1]) << 10)
            self.cpu = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
            time.sleep(0.05)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
