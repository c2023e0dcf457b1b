"""CONTRIBUTING's "Packages" as a newcomer would follow it, in a clean Debian, and what is there afterwards."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

from build import ARCHITECTURES
from files import Failure, read

KREW = "v0.5.0"
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
# The clean system, and what the commands of the section work with.
SYSTEM = "bash-completion,ca-certificates,containerd,fish,git,man-db,zsh"


def clean_system(checks):
    """Makes a Debian with nothing but the shells and managers that the section names."""
    root = f"{checks.folder}/debian"
    # Without /usr/share/man the manuals could not be read.
    checks.run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={SYSTEM}", "bookworm", root)
    for kind, path in (("proc", "proc"), ("sysfs", "sys")):
        checks.run("mount", "-t", kind, kind, f"{root}/{path}")
    checks.run("mount", "--rbind", "/dev", f"{root}/dev")
    kubectl = checks.run(f"{checks.build.root}/tools/program", "kubectl").splitlines()[-1]
    shutil.copy(kubectl, f"{root}/usr/local/bin/kubectl")
    krew = {"GOBIN": f"{checks.folder}/bin", "GOFLAGS": "-mod=mod"}
    for command in ("krew", "validate-krew-manifest"):
        checks.run("go", "install", f"sigs.k8s.io/krew/cmd/{command}@{KREW}", env={**os.environ, **krew})
    shutil.copy(f"{checks.folder}/bin/krew", f"{root}/usr/local/bin/kubectl-krew")
    os.makedirs(f"{root}/root/ketcd")
    shutil.copytree(checks.build.out, f"{root}/root/ketcd/dist")
    shutil.copy(checks.snapshot, f"{root}/root/ketcd/snapshot.db")
    return root


def inside(checks, root, line):
    """Runs a line in a shell of the clean system, in the folder of the sources; returns what it printed."""
    env = {"HOME": "/root", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/root/.krew/bin", "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    return checks.run("chroot", root, "bash", "-c", f"cd /root/ketcd && {line}", env=env)


def commands_of_page(checks):
    """The commands of the section "Packages" in CONTRIBUTING.md, each as it stands there, without its comment."""
    text = read(f"{checks.build.root}/CONTRIBUTING.md").decode()
    section = re.search(r"^## Packages\n(.*?)^## ", text, re.MULTILINE | re.DOTALL).group(1)
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+# .*", "", line) for block in blocks for line in block.splitlines()]


def readme(checks):
    """Runs every command of the section in the clean system, then looks at what each was for."""
    first, *commands = commands_of_page(checks)
    checks.wants(first == "tools/release", f"the section does not begin with tools/release, which this is: {first}")
    root = checks.root = clean_system(checks)
    daemon = subprocess.Popen(["chroot", root, "containerd"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    version = f"ketcd {checks.build.version}"
    try:
        wait_for(lambda: os.path.exists(f"{root}/run/containerd/containerd.sock"), "containerd does not start")
        for command in commands:
            inside(checks, root, command)
            # The archive's binary comes before the package's.
            if command.startswith("tar "):
                checks.wants(version in inside(checks, root, "/usr/local/bin/ketcd --version && rm /usr/local/bin/ketcd"), command)
            elif command.startswith("apt-get "):
                checks.wants(version in inside(checks, root, "/usr/bin/ketcd --version"), command)
            elif command.startswith("ctr "):
                checks.wants(f"docker.io/library/ketcd:{checks.build.version}" in inside(checks, root, "ctr -n k8s.io images list -q"), command)
            elif "krew" in command:
                ours, plugin = (inside(checks, root, f"{name} -f snapshot.db get pods -A") for name in ("ketcd", "kubectl forensics"))
                checks.wants(ours == plugin and "ubuntu" in ours, f"kubectl forensics prints something else: {plugin}")
                checks.wants("kubectl forensics get" in inside(checks, root, "kubectl forensics get --help"), "its help has another name")
            else:
                raise Failure(f"nothing looks at what this is for: {command}")
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    return f"{len(commands)} commands, each does what it is for"


def package(checks):
    """Looks at the Debian package where it was installed: manuals, completion in three shells, lintian."""
    manuals = [name[:-2] for name in os.listdir(f"{checks.build.root}/docs/man")]
    for name in manuals:
        checks.wants(f"{name.upper()}(1)" in inside(checks, checks.root, f"man -P cat {name}").upper(), f"man {name}")
    load = "[ -n \"$BASH_VERSION\" ] && . /usr/share/bash-completion/bash_completion || { autoload -U compinit && compinit -u; }"
    for shell, flags in (("bash", ["--norc"]), ("zsh", ["-f"])):
        keys = [f"{load}\n", "ketcd -f snapshot.db get deploym\t-n we\t-o name\n"]
        checks.wants("deployment.apps/tomcat" in typed(checks.root, [shell, *flags, "-i"], keys, "deployment.apps/tomcat"), f"completion in {shell}")
    fish = inside(checks, checks.root, "fish -c 'complete -C \"ketcd -f snapshot.db get pod/lab/ubu\"'")
    checks.wants(fish.split() == ["pod/lab/ubuntu"], f"completion in fish: {fish}")
    for architecture in ARCHITECTURES:
        # Static on purpose, without Debian's own file of changes, by maintainers without an address.
        tags = "statically-linked-binary,no-changelog,hardening-no-pie,malformed-contact"
        checks.run("lintian", "--fail-on=error", "--suppress-tags", tags, checks.file(f"ketcd_{checks.build.version}_{architecture}.deb"))
    return f"{len(manuals)} manuals, completion in bash, zsh and fish, no error of lintian"


def typed(root, shell, keys, wanted):
    """Types lines into a shell on a terminal in the clean system until `wanted` is shown; returns what was shown after the last line."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chroot(root)
        os.chdir("/root/ketcd")
        os.execvpe(shell[0], shell, {"HOME": "/root", "PATH": "/usr/bin:/bin", "TERM": "xterm", "PS1": "$ "})
    shown = b""
    try:
        for line in keys:
            shown, begun = b"", time.monotonic()
            for piece in re.split(r"(?<=\t)", line):
                os.write(terminal, piece.encode())
                quiet = time.monotonic()
                # A shell that still completes a word shows nothing.
                while time.monotonic() - quiet < 3 and time.monotonic() - begun < 60 and wanted.encode() not in shown:
                    if select.select([terminal], [], [], 0.2)[0]:
                        shown, quiet = shown + os.read(terminal, 4096), time.monotonic()
    finally:
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return shown.decode("utf-8", "replace")


def image(checks):
    """Reads the image as its users' tools do, and runs it."""
    archive = checks.file(f"ketcd-{checks.build.version}.oci.tar")
    for architecture in ARCHITECTURES:
        found = json.loads(checks.run("skopeo", "inspect", "--config", "--override-arch", architecture, f"oci-archive:{archive}"))
        checks.wants(found["architecture"] == architecture and found["config"]["Entrypoint"] == ["/usr/bin/ketcd"], f"image: {found}")
    layout = f"{checks.folder}/layout"
    checks.run("skopeo", "copy", "--override-arch", "amd64", f"oci-archive:{archive}", f"oci:{layout}:ketcd")
    checks.run("umoci", "unpack", "--image", f"{layout}:ketcd", f"{checks.folder}/bundle")
    root = f"{checks.folder}/bundle/rootfs"
    files = sorted(os.path.relpath(f"{folder}/{name}", root) for folder, _, names in os.walk(root) for name in names)
    checks.wants(files == ["etc/ssl/certs/ca-certificates.crt", "usr/bin/ketcd"], f"the image holds {files}")
    shutil.copy(f"{checks.build.root}/testdata/captures/k120-story/snapshot.db.zst", f"{root}/snapshot.db.zst")
    answer = checks.run(shutil.which("chroot"), root, "/usr/bin/ketcd", "-f", "/snapshot.db.zst", "get", "pod/lab/ubuntu", env={"PATH": "/usr/bin"})
    checks.wants("ubuntu" in answer, answer)
    return "skopeo reads both architectures, umoci unpacks it, and it reads a compressed snapshot in its own root directory"


def manifests(checks):
    """Holds the krew manifest against krew's own rules and the formula against Ruby's grammar."""
    checks.run(f"{checks.folder}/bin/validate-krew-manifest", "-manifest", checks.file("forensics.yaml"), "-skip-install")
    checks.run("ruby", "-c", checks.file("ketcd.rb"))
    checks.run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=checks.build.out)
    workflows = [f"{checks.build.root}/.github/workflows/{name}" for name in ("ci.yml", "release.yml")]
    checks.run("go", "run", ACTIONLINT, *workflows, cwd=checks.folder)
    return "krew's validator, `ruby -c`, `sha256sum --check`, actionlint"


def wait_for(condition, problem):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise Failure(problem)


CHECKS = [
    ("CONTRIBUTING's \"Packages\", word for word, in a clean Debian 12", readme),
    ("the Debian package, there", package),
    ("the image", image),
    ("krew manifest, Homebrew formula, SHA256SUMS, GitHub's workflows", manifests),
]
