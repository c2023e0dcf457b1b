"""Servers of `ketcd mcp`, and how the official SDK connects to them: over standard streams, where each client starts its own, and over HTTP."""

import contextlib
import json
import os
import re
import signal
import ssl
import subprocess

# With the handshake of the protocol's first versions, and without.
LIFECYCLES = ["legacy", "auto"]
FIRST_WITHOUT_HANDSHAKE = "2026-07-28"
# A question to a large cluster, asked of a build without optimisation on a busy machine.
MOST_SECONDS = 900


class Stdio:
    """Each client starts a server of its own."""

    name = "stdio"

    def __init__(self, ketcd, file):
        self.words = [ketcd, "-f", file, "mcp"]

    @contextlib.asynccontextmanager
    async def client(self, mode):
        from mcp import Client, StdioServerParameters

        server = StdioServerParameters(command=self.words[0], args=self.words[1:], env={**os.environ})
        async with Client(server, mode=mode, cache=None, read_timeout_seconds=MOST_SECONDS) as client:
            yield client


class Http:
    """One server for many clients, which read where it is, its token and its certificate from the folder that it names."""

    name = "HTTP"

    def __init__(self, ketcd, file):
        words = [ketcd, "-f", file, "mcp", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ""
        for line in self.process.stderr:
            said += line
            if "Ctrl-C ends it" in line:
                break
        found = re.search(r"token of this run: ([^;]+);", said)
        if not found:
            raise SystemExit(f"tools/assistants: this does not serve: {' '.join(words)}: {said}")
        self.configuration = found[1]
        self.certificate = os.path.join(os.path.dirname(found[1]), "ca.crt")
        with open(found[1], encoding="utf-8") as file:
            self.server = json.load(file)["mcpServers"]["ketcd"]

    @contextlib.asynccontextmanager
    async def client(self, mode):
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        trusted = ssl.create_default_context(cafile=self.certificate)
        async with httpx2.AsyncClient(headers=self.server["headers"], verify=trusted, timeout=MOST_SECONDS) as http:
            server = streamable_http_client(self.server["url"], http_client=http)
            async with Client(server, mode=mode, cache=None, read_timeout_seconds=MOST_SECONDS) as client:
                yield client

    def end(self):
        """Ends it; returns what is wrong with how it went."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait()
        self.process.stderr.close()
        left = os.path.exists(self.configuration)
        return f"the server ended with {code}{' and left its token' if left else ''}" if code or left else None
