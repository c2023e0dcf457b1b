"""What is damaged: for each kind of file the undamaged ones, out of testdata, which of their files are damaged and how, and who judges them."""

import functools
import gzip
import io
import json
import os
import socket
import subprocess
import tarfile
import tempfile
import time

import bolt
import log
import plain
import sqlite

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TESTDATA = f"{HERE}/testdata"
SHA256_BYTES = 32
# A log's segment is made 64 MB long and filled from its beginning. So much of the rest is kept.
LOG_ROOM_BYTES = 64 << 10


class Whole:
    """Undamaged files by their names below one folder. `path`: what ketcd is given of them. `targets`: the names that are damaged, each with its means."""

    def __init__(self, files, path, targets):
        self.files, self.path, self.targets = files, path, targets


class Kind:
    """One kind of file. `judges` are names of judges, each of which must accept the file."""

    def __init__(self, wholes, *judges):
        self.make, self.judges = wholes, judges

    @functools.cached_property
    def wholes(self):
        return self.make()


def packed(name):
    with open(f"{TESTDATA}/{name}", "rb") as file:
        return file.read()


def unpacked(name):
    return subprocess.run(["zstd", "-dcq", f"{TESTDATA}/{name}"], check=True, capture_output=True).stdout


def single(name, data, damages):
    return Whole({name: data}, name, {name: damages})


SNAPSHOTS = ["captures/k136-encrypted/snapshot.db.zst", "captures/k136-cbor/snapshot.db.zst", "captures/k120-story/compacted.db.zst"]


def snapshots():
    return [single("snapshot.db", unpacked(name), bolt.DAMAGES) for name in SNAPSHOTS]


def bare():
    return [single("db", unpacked(name)[:-SHA256_BYTES], bolt.DAMAGES) for name in SNAPSHOTS]


@functools.lru_cache
def member():
    """The data dir of a member, with less of its log's empty end."""
    with tarfile.open(fileobj=io.BytesIO(unpacked("captures/k120-story/member.tar.zst"))) as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
    for name in [name for name in files if name.endswith(".wal")]:
        written = len(files[name].rstrip(b"\0"))
        files[name] = files[name][: -(-written // 512) * 512 + LOG_ROOM_BYTES]
    return {f"data/{name}": data for name, data in files.items()}


def member_with(ending, damages):
    files = member()
    return [Whole(files, "data", {name: damages for name in files if name.endswith(ending)})]


def kine():
    names = ["containers/dqlite/snapshot.db.zst", "containers/dqlite/killed.db.zst", "captures/k136-kine/compacted.db.zst"]
    return [single("state.db", unpacked(name), sqlite.DAMAGES) for name in names]


def kine_with_wal():
    """What a kill -9 left, with SQLite's index of the log, which says how long that is."""
    with tarfile.open(fileobj=io.BytesIO(unpacked("captures/k136-kine/killed.tar.zst"))) as tar:
        files = {f"kine/{entry.name}": tar.extractfile(entry).read() for entry in tar if entry.isfile()}
    return [Whole(files, "kine", {"kine/state.db": sqlite.DAMAGES, "kine/state.db-wal": sqlite.WAL_DAMAGES})]


def zstd():
    return [single("snapshot.db.zst", packed(name), plain.DAMAGES) for name in SNAPSHOTS]


def gzipped():
    return [single("snapshot.db.gz", gzip.compress(unpacked(name), mtime=0), plain.DAMAGES) for name in SNAPSHOTS]


def tar():
    """A data dir in a tar. Nothing but its headers has a checksum; what lies in it is judged as a data dir."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name, data in sorted(member().items()):
            entry = tarfile.TarInfo(name.removeprefix("data/"))
            entry.size, entry.mode = len(data), 0o600
            out.addfile(entry, io.BytesIO(data))
    return [single("member.tar", packed.getvalue(), plain.DAMAGES)]


def recording():
    """What `ketcd record` writes of an etcd that begins with a recorded member's data dir."""
    etcd = subprocess.run([f"{HERE}/tools/program", "etcd-3.5"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="ketcd-damage.") as scratch:
        subprocess.run(["tar", "-x", "-C", scratch], input=unpacked("captures/k120-story/member.tar.zst"), check=True)
        files = recorded(etcd, scratch)
    # What was still being written when the recorder ended has no SHA-256 yet.
    targets = {name: plain.DAMAGES for name in files if name.endswith((".changes", ".state", "manifest.json"))}
    return [Whole(files, "recording", targets)]


def recorded(etcd, scratch):
    client, peer = free_port(), free_port()
    urls = [f"http://127.0.0.1:{port}" for port in (client, peer)]
    flags = ["--data-dir", scratch, "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0], "--listen-peer-urls", urls[1], "--force-new-cluster"]
    ketcd = os.environ.get("KETCD", f"{os.environ.get('CARGO_TARGET_DIR', HERE + '/target')}/debug/ketcd")
    folder = f"{scratch}/recording"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    until = time.monotonic() + 60
    with subprocess.Popen([etcd, *flags], **quiet) as server:
        try:
            while not answers(client) and server.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            words = ["record", folder, "--endpoints", urls[0], "--show-secrets", "--file-size", "256Ki"]
            with subprocess.Popen([ketcd, *words], **quiet) as recorder:
                while not settled(folder) and recorder.poll() is None and time.monotonic() < until:
                    time.sleep(0.2)
                recorder.terminate()
        finally:
            server.terminate()
    files = {}
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}", "rb") as file:
            files[f"recording/{name}"] = file.read()
    return files


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def settled(folder):
    """Whether the recorder has written what there is."""
    try:
        with open(f"{folder}/manifest.json") as file:
            return len(json.load(file)["recording"]["files"]) > 1
    except (OSError, ValueError, KeyError):
        return False


KINDS = {
    "snapshot": Kind(snapshots, "bolt"),
    "bare": Kind(bare, "bolt"),
    "database": Kind(lambda: member_with("/db", bolt.DAMAGES), "member"),
    "log": Kind(lambda: member_with(".wal", log.DAMAGES), "member"),
    "kine": Kind(kine, "sqlite"),
    "kine-wal": Kind(kine_with_wal, "sqlite"),
    "zstd": Kind(zstd, "zstd"),
    "gzip": Kind(gzipped, "gzip"),
    "tar": Kind(tar, "tar"),
    "recording": Kind(recording, "recording"),
}
