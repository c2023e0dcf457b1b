"""The protocol's official inspector, by its command line: it lists the tools and calls each, in both lifecycles, over standard streams and HTTP."""

import json
import os
import platform
import re
import shutil
import subprocess

import servers
from checks import MOST_TEXT_BYTES, STORY, capture
from questions import QUESTIONS, every_tool

RELEASE = "2.12.0"
# What the inspector runs with: the machine's Node, or this one from npm, where that is older than the inspector wants.
NODE = "22.23.3"
OLDEST_NODE = (22, 19)
ERAS = ["legacy", "modern"]


class Missing(Exception):
    """The inspector cannot be had here."""


def is_new_enough(node):
    said = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)\.", said)
    return bool(found) and (int(found[1]), int(found[2])) >= OLDEST_NODE


def install(home):
    """Installs the inspector, and a Node where the machine's is too old; returns the words that start it."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise Missing("it needs Node and npm")
    wanted = {"@modelcontextprotocol/inspector": RELEASE}
    if not is_new_enough(node):
        machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
        package = f"node-{platform.system().lower()}-{machine}"
        wanted[package] = NODE
        node = f"{home}/node_modules/{package}/bin/node"
    os.makedirs(home, exist_ok=True)
    package = json.dumps({"private": True, "dependencies": wanted})
    stamp = f"{home}/installed.json"
    if not os.path.exists(stamp) or open(stamp, encoding="utf-8").read() != package:
        with open(f"{home}/package.json", "w", encoding="utf-8") as file:
            file.write(package)
        # No package may run anything here: what is needed of them is prebuilt.
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
        subprocess.run([npm, "install", *options], cwd=home, check=True)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(package)
    return [node, f"{home}/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"]


class Inspector:
    """The inspector, and what is wrong with what it sees."""

    def __init__(self, words, home, faults):
        self.words, self.faults = words, faults
        # It keeps a list of servers in the home directory.
        self.environment = {**os.environ, "HOME": f"{home}/home", "MCP_INSPECTOR_SECRET_STORE": "memory"}
        os.makedirs(f"{home}/home", exist_ok=True)

    def ask(self, server, era, *words):
        """Runs it once; returns the result, and notes what it complains of."""
        target, options = ([], server.words) if isinstance(server, servers.Stdio) else (remote(server), [])
        line = [*self.words, *target, "--quiet", "--format", "json", "--protocol-era", era, *words, *(["--", *options] if options else [])]
        trust = {} if isinstance(server, servers.Stdio) else {"NODE_EXTRA_CA_CERTS": server.certificate}
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**self.environment, **trust}, check=False)
        where = f"the inspector ({server.name}, {era}), {' '.join(words)}"
        self.faults.unless(done.returncode == 0, f"{where}: exit code {done.returncode}: {(done.stderr or done.stdout)[:500]}")
        try:
            return json.loads(done.stdout)["result"]
        except (ValueError, KeyError):
            self.faults.append(f"{where} prints no result: {done.stdout[:300]}")
            return {}

    def look(self, server, era, names):
        """Lists everything that a server has, by the inspector's own rules of portable schemas, and calls each tool."""
        tools = {tool["name"] for tool in self.ask(server, era, "--strict", "--method", "tools/list").get("tools", [])}
        calls = every_tool(*names)
        self.faults.unless(tools == {tool for tool, _ in calls}, f"the inspector ({server.name}, {era}) lists {sorted(tools)}")
        for tool in sorted(tools):
            arguments = next((given for name, given in calls if name == tool), {})
            result = self.ask(server, era, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
            size = sum(len(block["text"].encode()) for block in result.get("content", []))
            self.faults.unless(0 < size <= MOST_TEXT_BYTES and not result.get("isError"), f"the inspector calls {tool} {arguments}: {str(result)[:300]}")
        for method, member in {"resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"}.items():
            self.faults.unless(self.ask(server, era, "--method", method).get(member), f"the inspector ({server.name}, {era}) sees nothing by {method}")
        read = self.ask(server, era, "--method", "resources/read", "--uri", f"ketcd://{names[1]}")
        self.faults.unless(names[1].rsplit("/", 1)[1] in json.dumps(read), f"the inspector reads ketcd://{names[1]}: {str(read)[:300]}")
        return len(tools)


def remote(server):
    headers = [f"{name}: {value}" for name, value in server.server["headers"].items()]
    return ["--transport", "http", "--server-url", server.server["url"], "--header", *headers]


def run(ketcd, home, faults):
    """Looks at the story by the inspector; prints what it saw."""
    inspector = Inspector(install(home), home, faults)
    names = ("node3", QUESTIONS[2].calls[0][1]["address"])
    http = servers.Http(ketcd, capture(STORY))
    for server in (servers.Stdio(ketcd, capture(STORY)), http):
        for era in ERAS:
            tools = inspector.look(server, era, names)
            print(f"the inspector {RELEASE}, {server.name}, {era}: {tools} tools listed and called", flush=True)
    faults.extend(filter(None, [http.end()]))
