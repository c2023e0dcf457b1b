"""A collector that hands on to Jaeger, both on ports of loopback that were free."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

# How long a server may take to begin, and Jaeger until it has what was sent.
PATIENCE_SECONDS = 60


def get(url):
    """The JSON at a URL; None where there is none."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError, json.JSONDecodeError):
        return None


def post(url, body):
    """Sends a document; ends where it is refused."""
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        sys.exit(f"tools/traces: {url} answered {error.code}: {error.read()[:500]!r}")


def free_ports(number):
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(number)]
    for made in sockets:
        made.bind(("127.0.0.1", 0))
    ports = [made.getsockname()[1] for made in sockets]
    for made in sockets:
        made.close()
    return ports


class Servers:
    """Both, while they run."""

    def __init__(self, programs, folder, pages=None):
        query, otlp, collector = [f"127.0.0.1:{port}" for port in free_ports(3)]
        self.jaeger, self.collector = f"http://{query}", f"http://{collector}"
        flags = [f"--query={query}", f"--otlp={otlp}", f"--pages={pages or ''}"]
        config = {
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": collector}}}},
            "exporters": {"otlp_http": {"endpoint": f"http://{otlp}", "compression": "none"}},
            "service": {
                "telemetry": {"metrics": {"level": "none"}},
                "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["otlp_http"]}},
            },
        }
        self.logs, self.running = [], []
        for name, words in [("jaeger", flags), ("collector", [f"--config=yaml:{json.dumps(config)}"])]:
            log = open(f"{folder}/{name}.log", "w+", encoding="utf-8")
            self.logs.append(log)
            self.running.append(subprocess.Popen([programs[name], *words], stdout=log, stderr=log))

    def __enter__(self):
        begun = self.until(lambda: get(f"{self.jaeger}/api/services") and accepts(self.collector))
        if not begun:
            for log in self.logs:
                log.seek(0)
                print(log.read()[-3000:], file=sys.stderr)
            self.__exit__()
            sys.exit("tools/traces: Jaeger or the collector did not begin")
        return self

    def until(self, has_come):
        """What a question gives once it gives something; None where it does not in time, or a server ended."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and all(server.poll() is None for server in self.running):
            if given := has_come():
                return given
            time.sleep(0.05)
        return None

    def __exit__(self, *_):
        for server in self.running:
            server.terminate()
        for server in self.running:
            server.wait()
        for log in self.logs:
            log.close()


def accepts(url):
    """Whether somebody listens."""
    host, port = url.removeprefix("http://").split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1):
            return True
    except OSError:
        return False
