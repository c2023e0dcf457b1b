"""The binaries by themselves: they run where there is nothing else, and find names there."""

import os
import shutil
import socket
import subprocess
import threading
import time

from build import ARCHITECTURES
from files import read, write

# What must answer the same on both architectures, from a snapshot.
COMMANDS = ("status", "ls -A pods", "history pod/lab/ubuntu --diff", "explain pod/lab/spread-5", "report --out /dev/stdout")


def empty_root(checks, architecture="amd64"):
    """Makes a root directory with the binary and the snapshot in it; returns how the binary is run there."""
    root = f"{checks.folder}/empty-{architecture}"
    if not os.path.exists(root):
        os.makedirs(root)
        shutil.copy(checks.build.path(architecture), f"{root}/ketcd")
        shutil.copy(checks.snapshot, f"{root}/snapshot.db")
        if architecture == "arm64":
            shutil.copy(shutil.which("qemu-aarch64-static"), f"{root}/qemu")
    return root, [shutil.which("chroot"), root, *(["/qemu"] if architecture == "arm64" else []), "/ketcd"]


def sizes(checks):
    return ", ".join(f"{target}: {len(read(checks.build.path(name))):,} bytes" for name, target in ARCHITECTURES.items())


def nothing_else(checks):
    """Starts and reads a snapshot where there is nothing but the binary and the file."""
    answers = {}
    for architecture in ARCHITECTURES:
        root, ketcd = empty_root(checks, architecture)
        wanted = {"ketcd", "snapshot.db"} | ({"qemu"} if architecture == "arm64" else set())
        checks.wants(set(os.listdir(root)) == wanted, f"{root} is not empty: {os.listdir(root)}")
        answers[architecture] = [checks.run(*ketcd, "-f", "/snapshot.db", *command.split(), env={}) for command in COMMANDS]
    checks.wants("4 nodes" in answers["amd64"][3] and len(answers["amd64"][4]) > 100_000, f"the answers say too little: {answers['amd64'][3]}")
    checks.wants(answers["amd64"] == answers["arm64"], "the architectures answer differently")
    return f"{', '.join(command.split()[0] for command in COMMANDS)} of a snapshot; the aarch64 binary, under QEMU, prints the same"


def names(checks):
    """Reads a live etcd there by name: localhost, a name of /etc/hosts, and one that a name server knows. Nothing of NSS is there."""
    root, ketcd = empty_root(checks)
    etcd = Etcd(checks)
    server = NameServer("etcd-1.lab", "127.0.0.77")
    os.makedirs(f"{root}/etc")
    try:
        status = [*ketcd, "status", "--endpoints"]
        checks.run(*status, f"http://localhost:{etcd.port}", env={})
        unknown = subprocess.run([*status, f"http://etcd-2.lab:{etcd.port}"], env={}, capture_output=True, text=True, check=False)
        checks.wants(unknown.returncode == 2 and "etcd-2.lab" in unknown.stderr, f"a name that nobody knows: {unknown}")
        write(f"{root}/etc/hosts", "127.0.0.1 etcd-0.lab\n")
        checks.run(*status, f"http://etcd-0.lab:{etcd.port}", env={})
        write(f"{root}/etc/resolv.conf", "nameserver 127.0.0.77\n")
        checks.run(*status, f"http://etcd-1.lab:{etcd.port}", env={})
        checks.wants(server.asked, "the name server was not asked")
    finally:
        etcd.process.kill()
        server.socket.close()
        shutil.rmtree(f"{root}/etc")
    return "`localhost` without any file; a name of `/etc/hosts`; a name that the server in `/etc/resolv.conf` knows; one that nobody knows is an error"


class Etcd:
    """An etcd on loopback."""

    def __init__(self, checks):
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0)), other.bind(("127.0.0.1", 0))
            self.port, peer = one.getsockname()[1], other.getsockname()[1]
        etcd = checks.run(f"{checks.build.root}/tools/program", "etcd-3.5").splitlines()[-1]
        urls = {"listen-client": self.port, "advertise-client": self.port, "listen-peer": peer, "initial-advertise-peer": peer}
        flags = [f"--{name}-urls=http://127.0.0.1:{port}" for name, port in urls.items()]
        flags += [f"--data-dir={checks.folder}/etcd", f"--initial-cluster=default=http://127.0.0.1:{peer}"]
        self.process = subprocess.Popen([etcd, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        self.process.kill()
        checks.wants(False, "etcd does not start")


class NameServer:
    """A name server on loopback that knows one name, which is 127.0.0.1."""

    def __init__(self, name, address):
        self.asked = False
        self.question = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                query, client = self.socket.recvfrom(512)
            except OSError:
                return
            known, is_ipv4 = query[12:].startswith(self.question), query[12 + len(self.question) :][:2] == b"\0\1"
            self.asked |= known
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if known and is_ipv4 else b""
            flags, counts = b"\x81\x80" if known else b"\x81\x83", b"\0\1" + (b"\0\1" if answer else b"\0\0") + b"\0\0\0\0"
            end = 12 + query[12:].index(b"\0") + 5
            self.socket.sendto(query[:2] + flags + counts + query[12:end] + answer, client)


CHECKS = [
    ("the binaries, static and without the builder's paths", sizes),
    ("a root directory with the binary and a snapshot, and nothing else", nothing_else),
    ("names of a live etcd in such a root", names),
]
