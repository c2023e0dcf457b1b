"""Clients of a Kubernetes API server and of etcd's JSON gateway, with what Python has."""

import base64
import http.client
import json
import ssl
import threading
import urllib.parse

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class Refused(Exception):
    """An answer that is not a success."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text[:300]}")
        self.status, self.text = status, text


class Api:
    """An API server. Each thread has its own connection."""

    def __init__(self, port, token="rehearsals", agent="rehearsals"):
        self.port, self.token, self.agent = port, token, agent
        self.context = ssl._create_unverified_context()
        self.own = threading.local()

    def connect(self, seconds):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=seconds, context=self.context)

    def __call__(self, method, path, body=None, kind="application/json", again=True):
        connection = getattr(self.own, "connection", None)
        self.own.connection = None
        is_new = connection is None
        connection = connection or self.connect(30)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self.headers(kind))
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()
            # The server closes connections that are idle for long.
            if not is_new and again:
                return self(method, path, body, kind, again=False)
            raise
        self.own.connection = connection
        if answer.status >= 300:
            raise Refused(answer.status, text)
        return json.loads(text) if text.startswith(("{", "[")) else text

    def headers(self, kind="application/json"):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": kind, "Accept": "application/json", "User-Agent": self.agent}

    def get(self, path):
        """An object, or None where it is not there."""
        try:
            return self("GET", path)
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def is_ready(self):
        try:
            self("GET", "/readyz")
            return True
        except (OSError, http.client.HTTPException, Refused):
            return False

    def watch(self, path, revision, seconds):
        """Yields events as they come, until the server ends the watch, at the latest after some seconds."""
        connection = self.connect(seconds + 30)
        try:
            mark = "&" if "?" in path else "?"
            connection.request("GET", f"{path}{mark}watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={revision}", None, self.headers())
            answer = connection.getresponse()
            if answer.status >= 300:
                raise Refused(answer.status, answer.read().decode())
            rest = b""
            while True:
                part = answer.read1(1 << 16)
                if not part:
                    return
                *lines, rest = (rest + part).split(b"\n")
                for line in filter(None, lines):
                    yield json.loads(line)
        finally:
            connection.close()


class Etcd:
    """An etcd by its JSON gateway."""

    def __init__(self, port):
        self.port = port

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status >= 300:
            raise Refused(answer.status, answer.read().decode())
        return answer

    def call(self, path, body):
        return json.loads(self.post(path, body).read())

    def revision(self):
        return int(self.call("/v3/kv/range", {"key": coded("/"), "count_only": True})["header"]["revision"])

    def is_ready(self):
        try:
            self.revision()
            return True
        except (OSError, http.client.HTTPException, Refused):
            return False

    def keys(self, prefix):
        """Key, value and lease of what is below a prefix."""
        answer = self.call("/v3/kv/range", {"key": coded(prefix), "range_end": coded(prefix[:-1] + chr(ord(prefix[-1]) + 1))})
        return {base64.b64decode(entry["key"]).decode(): entry for entry in answer.get("kvs", [])}

    def snapshot(self, path):
        """Writes a snapshot as etcd sends it, its SHA-256 last."""
        answer = self.post("/v3/maintenance/snapshot", {})
        with open(path, "wb") as file:
            for line in answer:
                if line.strip():
                    file.write(base64.b64decode(json.loads(line)["result"].get("blob", "")))


def coded(key):
    return base64.b64encode(key.encode()).decode()


def quoted(text):
    return urllib.parse.quote(text, safe="")
