"""Builds a collector of OpenTelemetry, and Jaeger's storage and API, from the Go module proxy."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTOR = "v0.165.0"
# A release whose storage in memory other programs may link, and that returns a span which came twice once.
JAEGER = {
    "github.com/jaegertracing/jaeger": "v1.63.0",
    "github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/jaeger": "v0.113.0",
}
COLLECTOR_MODULES = [
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
            build(name, path, {"collector": {module: COLLECTOR for module in COLLECTOR_MODULES}, "jaeger": JAEGER}[name])
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


def build(name, path, modules):
    """Builds the program in the folder of this name, with these releases of modules."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(f"{HERE}/{name}/main.go", folder)
        with open(f"{folder}/go.mod", "w", encoding="utf-8") as file:
            file.write(f"module {name}\n\ngo 1.25\n")
        go(folder, "get", *[f"{module}@{release}" for module, release in modules.items()])
        go(folder, "mod", "tidy")
        go(folder, "build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
