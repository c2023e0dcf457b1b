"""What is asked of ketcd and a server, and whether it holds."""

import base64
import json
import os
import random
import subprocess

from servers import FakeGcs, Moto

CAPTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/captures/k120-story/snapshot.db.zst")


class Checks:
    """The checks of one server, each a row of a table; `wrong` counts those that fail."""

    def __init__(self, ketcd, server, scratch):
        self.ketcd = ketcd
        self.server = server
        self.scratch = scratch
        self.wrong = 0
        self.backups = f"{server.scheme}://backups"
        self.lake = f"{server.scheme}://lake"
        self.snapshot = f"{self.backups}/story/2026-11-20.db.zst"
        self.temporary = f"{scratch}/tmp"
        os.mkdir(self.temporary)
        self.environment = {**os.environ, **server.environment, "TMPDIR": self.temporary}

    def all(self):
        self.reading()
        if isinstance(self.server, FakeGcs):
            # It answers every upload by GCS' XML API with an error.
            self.uploads_refused()
        else:
            self.writing()
            self.in_parts()
        left = os.listdir(self.temporary)
        self.check("no copy is left in TMPDIR", not left, left)

    def run(self, *arguments):
        ended = subprocess.run([self.ketcd, *arguments], env=self.environment, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout, ended.stderr

    def check(self, what, is_right, seen=""):
        print(f"| {self.server.name} | {what} | {'yes' if is_right else f'**no** {seen}'} |", flush=True)
        self.wrong += not is_right

    def reading(self):
        scheme = self.server.scheme
        self.server.put("backups", "story/2026-11-20.db.zst", CAPTURE)
        wanted = self.run("-f", CAPTURE, "ls", "pods", "-A")
        got = self.run("-f", self.snapshot, "ls", "pods", "-A")
        self.check(f"`-f {scheme}://…/2026-11-20.db.zst ls pods -A` prints what the file prints", got[:2] == wanted[:2], got[2])
        large = f"{self.scratch}/large.db"
        subprocess.run(["zstd", "-dqf", CAPTURE, "-o", large], check=True)
        with open(large, "ab") as file:
            file.truncate(40 << 20)
        self.server.put("backups", "large.db", large)
        code, _, problem = self.run("-f", f"{self.backups}/large.db", "--max-unpacked-size", "32Mi", "status")
        self.check("a file larger than --max-unpacked-size is refused", code == 2 and "more than the 33554432 that are unpacked" in problem, problem)
        code, _, problem = self.run("-f", f"{self.backups}/none.db", "status")
        self.check("a file that is not there is an error that names it", code == 2 and f"{self.backups}/none.db" in problem and "check the bucket and the path" in problem, problem)

        self.prefixes()

    def prefixes(self):
        gardener = os.path.join(os.path.dirname(CAPTURE), "../../containers/gardener/v2")
        for name in sorted(os.listdir(gardener)):
            self.server.put("backups", f"shoot--a--b/etcd-main/v2/{name}", f"{gardener}/{name}")
        wanted = self.run("-f", gardener, "history", "--all", "-o", "ndjson")
        for url in (f"{self.backups}/shoot--a--b/", f"{self.backups}/shoot--a--b/etcd-main/v2"):
            got = self.run("-f", url, "history", "--all", "-o", "ndjson")
            self.check(f"`-f {url} history --all` is what the folder gives", wanted[0] == 0 and got[:2] == wanted[:2], got[2])
        self.server.put("backups", "nightly/1.db.zst", CAPTURE)
        self.server.put("backups", "nightly/2.db.zst.part", CAPTURE)
        code, _, problem = self.run("-f", f"{self.backups}/nightly/", "status")
        self.check("an unfinished file below a prefix is reported", code == 0 and "2.db.zst.part is not read" in problem + _, problem)
        code, _, problem = self.run("-f", f"{self.backups}/nothing/", "status")
        self.check("a prefix of nothing is an error that names it", code == 2 and "no object lies below it" in problem, problem)
        code, out, problem = self.run("-f", f"{self.backups}/::nightly/1.db.zst", "ls", "pods", "-A")
        wanted = self.run("-f", CAPTURE, "ls", "pods", "-A")
        self.check("one object of a prefix is read alone", (code, out) == wanted[:2], problem)
        if self.server.scheme in ("s3", "az"):
            self.excluded()

    def excluded(self):
        name = "Incr-00000495-00000521-1795547370.gz"
        self.server.exclude("backups", f"shoot--a--b/etcd-main/v2/{name}")
        code, out, problem = self.run("-f", f"{self.backups}/shoot--a--b/", "status", "-o", "json")
        newest = json.loads(out)["revisions"]["newest"] if code == 0 else None
        self.check("a snapshot that its tag excludes from restores is left out and named", newest == 494 and f"excluded from restores: etcd-main/v2/{name}" in problem, problem)

    def uploads_refused(self):
        code, _, problem = self.run("-f", self.snapshot, "export", "--format", "parquet", "--out", f"{self.lake}/fleet")
        self.check("an upload that the server refuses is an error that says why", code == 2 and f"{self.lake}/fleet" in problem and "invalid uploadType" in problem, problem)

    def writing(self):
        self.run("-f", CAPTURE, "export", "--format", "parquet", "--out", f"{self.scratch}/fleet", "--cluster", "story")
        local = files(f"{self.scratch}/fleet")
        code, _, problem = self.run("-f", self.snapshot, "export", "--format", "parquet", "--out", f"{self.lake}/fleet", "--cluster", "story")
        remote = self.server.objects("fleet")
        self.check(f"the dataset in the bucket has the files of one in a directory ({len(local)}), byte by byte", code == 0 and local and remote == local, problem)
        code, again, problem = self.run("-f", self.snapshot, "export", "--format", "parquet", "--out", f"{self.lake}/fleet", "--cluster", "story", "-o", "json")
        self.check("a second run writes nothing", code == 0 and '"files": []' in again and '"path"' not in again and self.server.objects("fleet") == remote, problem)
        for revision in ("900", "1500"):
            self.run("-f", self.snapshot, "--rev", revision, "export", "--format", "parquet", "--out", f"{self.lake}/grown", "--cluster", "story", "--tables", "history")
        self.run("-f", self.snapshot, "export", "--format", "parquet", "--out", f"{self.lake}/grown", "--cluster", "story", "--tables", "history")
        spans = sorted(name.rsplit("/", 1)[1] for name in self.server.objects("grown"))
        self.check("runs that go on write the rest alone", spans == ["r1501-r1787.parquet", "r2-r900.parquet", "r901-r1500.parquet"], spans)
        url = f"{self.server.scheme}://nowhere/fleet"
        code, _, problem = self.run("-f", CAPTURE, "export", "--format", "parquet", "--out", url)
        self.check("a bucket that is not there is an error that names it", code == 2 and url in problem and "check the bucket and the path" in problem, problem)

    def in_parts(self):
        listing = f"{self.scratch}/large.json"
        with open(listing, "w") as file:
            json.dump(large_objects(), file)
        self.run("-f", listing, "export", "--format", "parquet", "--out", f"{self.scratch}/large", "--cluster", "large")
        [(name, content)] = files(f"{self.scratch}/large").items()
        if isinstance(self.server, Moto):
            self.server.fails = "2"
            code, _, problem = self.run("-f", listing, "export", "--format", "parquet", "--out", f"{self.lake}/large", "--cluster", "large")
            left = [*self.server.objects("large"), *self.server.unfinished()]
            self.check("an upload whose second part is refused is an error, and nothing is left of it", code == 2 and "credentials" in problem and not left, (problem, left))
            self.server.fails, self.server.parts = None, 0
        code, _, problem = self.run("-f", listing, "export", "--format", "parquet", "--out", f"{self.lake}/large", "--cluster", "large")
        parts = self.server.parts if isinstance(self.server, Moto) else self.server.blocks(f"large/{name}")
        is_right = code == 0 and self.server.objects("large") == {name: content} and parts == -(-len(content) // (8 << 20))
        self.check(f"a file of {len(content) >> 20} MiB is uploaded in {parts} parts and is that of a directory, byte by byte", is_right and parts > 1, problem)


def large_objects():
    """30 ConfigMaps as kubectl prints them, 21 MB that cannot be compressed further."""
    dice = random.Random(1)
    return {"apiVersion": "v1", "kind": "List", "items": [config_map(number, dice) for number in range(30)]}


def config_map(number, dice):
    metadata = {
        "name": f"blob-{number}",
        "namespace": "default",
        "uid": f"00000000-0000-0000-0000-{number:012}",
        "resourceVersion": str(number + 2),
        "creationTimestamp": "2026-11-20T22:00:00Z",
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"blob": base64.b64encode(dice.randbytes(700_000)).decode()}}


def files(folder):
    """What each file below a folder holds, by its path there."""
    contents = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                contents[os.path.relpath(path, folder)] = file.read()
    return contents
