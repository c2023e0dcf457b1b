"""Runs one experiment: prepare, back up, let time pass, lose etcd, forecast, restore, wait, and look."""

import base64
import json
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import asdict

from api import Api, Refused
from cluster import Cluster
from scoring import Facts, scored

# How long nothing but signs of life is written until all has come.
QUIET_SECONDS = 7
SETTLE_SECONDS = 75

# For how long a watcher waits that goes on where it was.
RESUMED_SECONDS = 8


class Run:
    """One experiment, its files in a folder."""

    def __init__(self, ketcd, name, experiment, work, port):
        self.ketcd, self.name, self.experiment, self.work = ketcd, name, experiment, work
        self.c = Cluster(work, port, experiment.members)
        self.facts, self.notes = Facts(), []

    def __call__(self):
        c, experiment = self.c, self.experiment
        try:
            experiment.configure(c)
            c.start()
            c.kubelets.add(*experiment.nodes)
            c.wait("the nodes", lambda: len(c.api("GET", "/api/v1/nodes")["items"]) == len(experiment.nodes))
            c.record()
            experiment.prepare(c)
            self.back_up()
            experiment.go_on(c)
            self.lose()
            self.forecast()
            self.restore()
            self.settle()
            self.look()
        finally:
            c.stop()
        return self.result()

    def calm(self):
        """Waits until nobody writes but signs of life."""
        self.c.wait("calm", lambda: time.time() - self.c.recorder.last() > 2, 60)

    def back_up(self):
        self.calm()
        self.facts.backup = self.c.objects()
        sealed = [base64.b64decode(entry["value"]) for entry in self.c.etcd.keys("/registry/secrets/").values()]
        for value in sealed:
            if value.startswith(b"k8s:enc:aescbc:v1:"):
                key = value.split(b":")[4].decode()
                self.facts.sealed[key] = self.facts.sealed.get(key, 0) + 1
        self.facts.revisions["backup"] = self.c.etcd.revision()
        self.path_of_backup = f"{self.work}/backup.db"
        self.c.etcd.snapshot(self.path_of_backup)

    def lose(self):
        c, facts = self.c, self.facts
        self.calm()
        facts.newest = c.objects()
        self.tokens = self.mint()
        listed = c.api("GET", "/api/v1/configmaps")
        self.watched = listed["metadata"]["resourceVersion"]
        facts.ran, facts.storage = c.kubelets.report(), c.storage.report()
        c.stop_controllers()
        c.stop_server()
        facts.revisions["newest"] = c.etcd.revision()
        if c.recorder:
            c.recorder.stop()
        snapshot = f"{self.work}/newest.db"
        c.etcd.snapshot(snapshot)
        c.stop_etcd()
        self.over = [snapshot]
        if self.experiment.is_newest_a_data_dir:
            self.over = []
            for member in c.names:
                copy = f"{self.work}/{member}.newest"
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(c.data(member), copy)
                self.over.append(copy)

    def mint(self):
        """A token of each account, and those that Secrets hold, by what a forecast would name."""
        found = {}
        for objects in (self.facts.backup, self.facts.newest):
            for (kind, space, name), item in objects.items():
                if kind == "Secret" and "token" in item.get("data", {}):
                    found[kind, space, name, item["metadata"]["uid"]] = base64.b64decode(item["data"]["token"]).decode()
        for (kind, space, name), item in self.facts.newest.items():
            if kind == "ServiceAccount":
                asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
                given = self.c.api("POST", f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token", asked)
                found[kind, space, name, item["metadata"]["uid"]] = given["status"]["token"]
        return found

    def call(self, *words):
        command = [self.ketcd, "rehearse", self.path_of_backup, *(word for path in self.over for word in ("--over", path)), *words]
        if self.c.keys:
            command += ["--encryption-config", f"{self.work}/encryption.json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.stdout:
            raise RuntimeError(f"{shlex.join(command)}: {done.stderr}")
        return done.stdout

    def forecast(self):
        self.asked_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.rehearsal = json.loads(self.call("-o", "json", "--now", self.asked_at))
        with open(f"{self.work}/forecast.json", "w") as file:
            json.dump(self.rehearsal, file, indent=1)
        if not self.rehearsal["sources"][0]["newest"] and self.experiment.members > 1:
            self.notes.append("the best source is not the newest member")

    def restore(self):
        """Runs what is printed, each command for its member."""
        printed = [command for step in self.rehearsal["way"]["steps"] for command in step["commands"] if " snapshot restore " in command]
        markdown = self.call("-o", "markdown", "--now", self.asked_at)
        for command in printed:
            if command not in markdown:
                self.notes.append(f"not in the checklist: {command}")
            words = shlex.split(command)
            if not self.experiment.is_raised:
                place = words.index("--bump-revision")
                words = [word for word in words[:place] + words[place + 2:] if word != "--mark-compacted"]
            self.c.restore(words, words[words.index("--name") + 1])
        if len(printed) != len(self.c.names):
            raise RuntimeError(f"{len(printed)} restores are printed for {len(self.c.names)} members")

    def settle(self):
        c, facts = self.c, self.facts
        self.experiment.before_server(c)
        facts.restored_at = time.time()
        c.start_etcd()
        facts.revisions["restored"] = c.etcd.revision()
        facts.keys_then = c.etcd.keys("/registry/")
        c.record()
        facts.ran_on = c.kubelets.report()
        c.start_server()
        self.experiment.await_server(c)
        self.experiment.look(c, facts)
        facts.revisions["controllers_at"] = time.time()
        c.start_controllers()

        def is_settled():
            has_listed = not self.experiment.is_raised or all(
                any(entry["node"] == node and entry["what"] == "listed its pods" and entry["time"] > facts.restored_at for entry in c.kubelets.log())
                for node in c.kubelets.nodes)
            now = time.time()
            return (has_listed and now - facts.revisions["controllers_at"] > 2 * QUIET_SECONDS and now - c.recorder.last() > QUIET_SECONDS
                    and self.experiment.is_settled(c))
        try:
            c.wait("rest", is_settled, SETTLE_SECONDS)
        except TimeoutError as late:
            self.notes.append(str(late))

    def look(self):
        c, facts = self.c, self.facts
        c.api("POST", "/api/v1/namespaces/kube-public/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "after-the-restore"}})
        facts.watcher = self.resume()
        for place, token in self.tokens.items():
            facts.tokens[place] = self.answer_to(token)
        facts.after, facts.keys_after = c.objects(), c.etcd.keys("/registry/")
        facts.runs, facts.events = c.kubelets.report(), list(c.recorder.events)
        c.etcd.snapshot(f"{self.work}/after.db")
        missing = [node for node in c.kubelets.nodes if ("Node", "", node) not in facts.after]
        if missing:
            c.kubelets.restart()
            c.wait("nodes", lambda: all(c.api.get(f"/api/v1/nodes/{node}") for node in missing), 30)
            facts.registered = missing
        facts.log = c.kubelets.log()

    def resume(self):
        """What a watcher sees that goes on where it was when etcd was lost."""
        try:
            for event in self.c.api.watch("/api/v1/configmaps", self.watched, RESUMED_SECONDS):
                if event["type"] == "ERROR":
                    return "refused" if event["object"].get("code") == 410 else str(event["object"])
                if event["type"] != "BOOKMARK" and event["object"]["metadata"]["name"] == "after-the-restore":
                    return "sees"
        except Refused as refused:
            return "refused" if refused.status == 410 else str(refused)
        return "silent"

    def answer_to(self, token):
        try:
            Api(self.c.api.port, token)("GET", "/api/v1/namespaces")
            return 200
        except Refused as refused:
            return refused.status

    def result(self):
        scores = scored(self.rehearsal, self.facts)
        done = self.done()
        # What is done against the printed way is called wrong, as it has to be.
        done["excused"] = [] if self.experiment.is_raised else ["watchers"]
        own = {(score["forecast"], *named(score["affected"])): score for score in scores}
        for score in done["scores"]:
            ours = own.get((score["forecast"], *named(score["affected"])))
            if ours and {score["outcome"], ours["outcome"]} == {"right", "wrong"}:
                self.notes.append(f"--done says {score['outcome']} of {named(score['affected'])}: {score['evidence']}; {ours['evidence']}")
        with open(f"{self.work}/scores.json", "w") as file:
            json.dump({"notes": self.notes, "scores": scores, "done": done}, file, indent=1)
        with open(f"{self.work}/facts.json", "w") as file:
            facts = asdict(self.facts)
            json.dump({name: facts[name] for name in ("ran", "ran_on", "runs", "log", "storage", "reads", "watcher", "registered", "revisions")}, file)
        return scores, done, self.notes

    def done(self):
        return json.loads(self.call("-o", "json", "--now", self.asked_at, "--done", f"{self.work}/after.db"))


def named(affected):
    return tuple(affected[part] for part in ("kind", "namespace", "name")) if affected else ("", "", "")
