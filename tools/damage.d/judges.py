"""The judges: programs that are not ours, each asked for one file a line. An answer is `refused` (why, or ""), `names` and `values` (hashes of what is read)."""

import functools
import hashlib
import json
import os
import select
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.environ.get("KETCD_JUDGES") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ketcd-judges")
BBOLT, ETCD = "v1.5.0", "v3.7.3"
# An honest answer takes less than a second. A judge that is busy for so long goes in a circle, and etcd would.
PATIENCE_S = 20


@functools.lru_cache
def go():
    """The path of the Go judges, built once for this source of theirs."""
    with open(f"{HERE}/judges/main.go") as file:
        source = file.read()
    folder = f"{HOME}/{hashlib.sha256((source + BBOLT + ETCD).encode()).hexdigest()[:12]}"
    if not os.path.exists(f"{folder}/judges"):
        print(f"building the judges in {folder}", file=sys.stderr, flush=True)
        work = f"{folder}.new"
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        with open(f"{work}/main.go", "w") as file:
            file.write(source)
        modules = [f"go.etcd.io/bbolt@{BBOLT}", f"go.etcd.io/etcd/server/v3@{ETCD}"]
        for command in (["mod", "init", "judges"], ["get", *modules], ["build", "-trimpath", "-o", "judges", "."]):
            done = subprocess.run(["go", *command], cwd=work, env=dict(os.environ, GOFLAGS="-mod=mod"), capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"go {' '.join(command)} failed in {work}:\n{done.stderr[-2000:]}")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(work, folder)
    return f"{folder}/judges"


class Process:
    """A judge that stays. One that dies of a file, or does not end, refused it."""

    def __init__(self, *command):
        self.command, self.child = command, None

    def ask(self, path):
        if self.child is None or self.child.poll() is not None:
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.child.stdin.write(f"{path}\n")
        self.child.stdin.flush()
        ready, _, _ = select.select([self.child.stdout], [], [], PATIENCE_S)
        line = self.child.stdout.readline() if ready else ""
        if not line.endswith("\n"):
            self.stop()
            return {"refused": "does not end" if not ready else "dies"}
        answer = json.loads(line)
        if answer["refused"]:
            # A check that found something goes on, and may end the process later, when it is asked for another file.
            self.stop()
        return answer

    def stop(self):
        self.child.kill()
        self.child.wait()
        self.child = None


class Judges:
    """All judges by their names."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.processes = {}

    def ask(self, name, path):
        return getattr(self, name)(path)

    def process(self, name, command):
        if name not in self.processes:
            self.processes[name] = Process(*command)
        return self.processes[name]

    def bolt(self, path):
        return self.process("bolt", [go(), "bolt"]).ask(path)

    def member(self, path):
        """The database of a data dir, and its log."""
        found = [self.bolt(f"{path}/member/snap/db"), self.process("log", [go(), "log"]).ask(f"{path}/member")]
        return joined(found) | {"revisions": found[0].get("revisions")}

    def sqlite(self, path):
        """The database is asked on a copy: SQLite writes."""
        copy = f"{self.scratch}/judged"
        shutil.rmtree(copy, ignore_errors=True)
        if os.path.isdir(path):
            shutil.copytree(path, copy)
        else:
            os.makedirs(copy)
            shutil.copy(path, copy)
        return self.process("sqlite", [sys.executable, f"{HERE}/sqlite_judge.py"]).ask(f"{copy}/state.db")

    def unpacked(self, command, path):
        done = subprocess.run([*command, path], capture_output=True)
        if done.returncode:
            return {"refused": done.stderr.decode(errors="replace")[-200:].strip()}
        return {"refused": "", "names": "", "values": hashlib.sha256(done.stdout).hexdigest()}

    def zstd(self, path):
        return self.unpacked(["zstd", "-dcq"], path)

    def gzip(self, path):
        return self.unpacked(["gzip", "-dc"], path)

    def tar(self, path):
        """What tar takes is judged as a data dir."""
        folder = f"{self.scratch}/untarred"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        done = subprocess.run(["tar", "-xf", path, "-C", folder, "--no-same-owner"], capture_output=True, text=True, errors="replace")
        if done.returncode:
            return {"refused": done.stderr[-200:].strip()}
        return self.member(folder)

    def recording(self, path):
        """A recording's list has the SHA-256 of each file that is complete, and its own."""
        try:
            with open(f"{path}/manifest.json") as file:
                text = file.read()
            sealed = json.loads(text)
            begin = text.index("{", text.index('"recording"'))
            _, end = json.JSONDecoder().raw_decode(text, begin)
            if hashlib.sha256(text[begin:end].encode()).hexdigest() != sealed["sha256"]:
                return {"refused": "the SHA-256 of its list does not hold"}
            for entry in sealed["recording"]["files"]:
                with open(f"{path}/{entry['name']}", "rb") as file:
                    if hashlib.sha256(file.read()).hexdigest() != entry["sha256"]:
                        return {"refused": f"the SHA-256 of {entry['name']} does not hold"}
        except (OSError, ValueError, KeyError, TypeError, UnicodeError) as error:
            return {"refused": repr(error)}
        return {"refused": "", "names": "", "values": sealed["sha256"]}


def joined(answers):
    refused = next((answer["refused"] for answer in answers if answer["refused"]), "")
    if refused:
        return {"refused": refused}
    return {key: " ".join(str(answer[key]) for answer in answers) for key in ("names", "values")} | {"refused": ""}
