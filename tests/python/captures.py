"""Recorded clusters, and the command of the wheel that is tested."""

import json
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def capture(name, file="snapshot.db.zst"):
    """A file of a recorded cluster."""
    return f"{ROOT}/testdata/captures/{name}/{file}"


STORY = capture("k136-story")
OLD_STORY = capture("k120-story")
COMPACTED = capture("k136-story", "compacted.db.zst")


def ketcd(file, *arguments):
    """Runs the command; returns what it prints on standard output."""
    command = ["ketcd", "-f", file, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env={**os.environ, "KETCD_PAGER": ""}).stdout


def document(file, *arguments):
    return json.loads(ketcd(file, *arguments, "-o", "json"))


def lines(file, *arguments):
    return [json.loads(line) for line in ketcd(file, *arguments, "-o", "ndjson").splitlines()]


class playground:
    """A folder with the files that the guides name, which is the working directory as long."""

    FILES = {"snapshot.db": OLD_STORY, "yesterday.db": capture("k120-story", "compacted.db.zst")}

    def __enter__(self):
        self.before, self.folder = os.getcwd(), tempfile.mkdtemp()
        for name, file in self.FILES.items():
            shutil.copy(file, f"{self.folder}/{name}")
        os.chdir(self.folder)
        return self.folder

    def __exit__(self, *_):
        os.chdir(self.before)
        shutil.rmtree(self.folder)
