"""Builds the clients of tools/clients, each once, outside the project."""

import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.environ.get("KETCD_CLIENTS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ketcd-clients")

CLIENT_GO = "v0.36.3"
K9S = "v0.50.18"
# The releases of kubectl, as its Go module numbers them: one without aggregated discovery and OpenAPI v3, and newer ones.
KUBECTLS = ["v0.24.17", "v0.32.4", "v0.36.3"]

KUBECTL_MAIN = """package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) }
"""

K9S_MAIN = """package main

import "github.com/derailed/k9s/cmd"

func main() { cmd.Execute() }
"""


def informers():
    with open(f"{HERE}/informers/main.go") as file:
        return go("informers", CLIENT_GO, file.read(), ["k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"])


def kubectl(release):
    shown = f"-X k8s.io/component-base/version.gitVersion={release.replace('v0.', 'v1.')}"
    return go("kubectl", release, KUBECTL_MAIN, ["k8s.io/kubectl"], shown)


def k9s():
    return go("k9s", K9S, K9S_MAIN, ["github.com/derailed/k9s"])


def go(name, release, main, modules, flags=""):
    """The path of a program whose main function is this one, of these modules in this release."""

    def build(folder):
        with open(f"{folder}/main.go", "w") as file:
            file.write(main)
        run(folder, "go", "mod", "init", name)
        run(folder, "go", "get", *(f"{module}@{release}" for module in modules))
        run(folder, "go", "build", "-p", "1", "-mod=mod", "-trimpath", f"-ldflags=-s -w {flags}", "-o", name, ".")
        return f"{folder}/{name}"

    return once(f"{name}-{release}", main, name, build)


def reflectors():
    sources = {}
    for path in ("Cargo.toml", "src/main.rs"):
        with open(f"{HERE}/reflectors/{path}") as file:
            sources[path] = file.read()

    def build(folder):
        os.mkdir(f"{folder}/src")
        for path, text in sources.items():
            with open(f"{folder}/{path}", "w") as file:
                file.write(text)
        # What it is made of stays, for the next change.
        run(folder, "cargo", "build", "--quiet", "--target-dir", f"{HOME}/target")
        return f"{HOME}/target/debug/reflectors"

    return once("reflectors", "".join(sources.values()), "reflectors", build)


def once(name, source, program, build):
    """Builds what is not built yet of this source."""
    folder = f"{HOME}/{name}-{hashlib.sha256(source.encode()).hexdigest()[:12]}"
    path = f"{folder}/{program}"
    if not os.path.exists(path):
        print(f"building {name} in {folder}", file=sys.stderr, flush=True)
        work = f"{folder}.new"
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(work)
        os.makedirs(folder)
        os.replace(build(work), path)
        for lock in ("Cargo.lock", "go.mod"):
            if os.path.exists(f"{work}/{lock}"):
                os.replace(f"{work}/{lock}", f"{folder}/{lock}")
        shutil.rmtree(work)
    return path


def run(folder, *command):
    environment = dict(os.environ, GOTOOLCHAIN="auto", GOFLAGS="-mod=mod")
    environment.pop("CARGO_TARGET_DIR", None)
    done = subprocess.run(["nice", "-n", "10", *command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{done.stderr[-2000:]}")


def kube_rs():
    """The release of kube-rs that the reflectors were built with."""
    with open(f"{os.path.dirname(reflectors())}/Cargo.lock") as file:
        return file.read().split('name = "kube"\nversion = "')[1].split('"')[0]
