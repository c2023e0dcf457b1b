"""Builds a collector of OpenTelemetry and Jaeger from the Go module proxy."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTOR = "v0.165.0"
# The last release of the module that the proxy has under its path; Jaeger 2 has the same storage and API.
JAEGER = "v1.76.0"
MODULES = [
    "go.opentelemetry.io/collector/otelcol",
    "go.opentelemetry.io/collector/receiver/otlpreceiver",
    "go.opentelemetry.io/collector/exporter/otlphttpexporter",
]


def programs():
    """The paths of both programs."""
    home = os.environ.get("KETCD_TEST_TRACING") or os.path.join(
        os.environ.get("CARGO_TARGET_DIR") or f"{HERE}/../../target", "traces"
    )
    found = {name: os.path.join(home, name) for name in ("collector", "jaeger")}
    for name, path in found.items():
        if not os.path.exists(path):
            if os.environ.get("KETCD_TEST_TRACING"):
                sys.exit(f"tools/traces: KETCD_TEST_TRACING is {home}, without {name}")
            os.makedirs(home, exist_ok=True)
            {"collector": build_collector, "jaeger": build_jaeger}[name](path)
    return found


def go(folder, *words):
    """Runs go in a folder."""
    program = shutil.which("go") or "/usr/local/go/bin/go"
    environment = {**os.environ, "GOTOOLCHAIN": "auto", "GOFLAGS": "-mod=mod", "GOWORK": "off"}
    try:
        return subprocess.run([program, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        sys.exit("tools/traces: Go is needed: install golang, or name a folder with both programs in KETCD_TEST_TRACING")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"tools/traces: go {' '.join(words)}: {failed.stderr[-2000:]}")


def build_collector(path):
    """A collector of three components."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(f"{HERE}/collector/main.go", folder)
        with open(f"{folder}/go.mod", "w", encoding="utf-8") as file:
            file.write("module collector\n\ngo 1.25\n")
        for module in MODULES:
            go(folder, "get", f"{module}@{COLLECTOR}")
        go(folder, "mod", "tidy")
        go(folder, "build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")


def build_jaeger(path):
    """Jaeger in one process, with its storage in memory. What the module replaces is replaced here too."""
    with tempfile.TemporaryDirectory() as folder:
        module = go(folder, "mod", "download", "-json", f"github.com/jaegertracing/jaeger@{JAEGER}")
        with open(re.search(r'"GoMod": "(.*)"', module)[1], encoding="utf-8") as file:
            text = file.read()
        version = re.search(r"^go (.*)$", text, re.M)[0]
        replaced = re.findall(r"^replace .*=>.*$", text, re.M)
        lines = ["module jaeger", version, f"require github.com/jaegertracing/jaeger {JAEGER}", *replaced]
        with open(f"{folder}/go.mod", "w", encoding="utf-8") as file:
            file.write("\n\n".join(lines) + "\n")
        go(folder, "build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/jaegertracing/jaeger/cmd/all-in-one")
