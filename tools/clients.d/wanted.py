"""What `ketcd get` holds, and whether the stores of a client hold the same."""

import json
import os
import subprocess


class Wanted:
    """The objects of a snapshot."""

    def __init__(self, ketcd, snapshot, answers):
        self.ketcd, self.snapshot, self.found = ketcd, snapshot, {}
        self.answers = {}
        if answers:
            for line in text(["zstd", "-dcqf", answers]).splitlines():
                answer = json.loads(line)
                key = (answer["gv"], answer["resource"], *identity(answer["object"]))
                self.answers[key] = {"apiVersion": answer["gv"], **answer["object"]}

    def get(self, *words):
        return text([self.ketcd, "-f", self.snapshot, "--show-secrets", "get", *words])

    def objects(self, group, plural):
        """The objects of a resource by namespace and name, in the version that `get` prints."""
        name = f"{plural}.{group}" if group else plural
        if name not in self.found:
            # One object is printed without a list around it, and none not at all.
            printed = self.get(name, "-A", "-o", "json", "--show-managed-fields")
            document = json.loads(printed) if printed.strip() else {"items": []}
            self.found[name] = {identity(item): item for item in document.get("items", [document])}
        return self.found[name]

    def compare(self, folder, form):
        """Compares stores, a file for each resource, and returns what to say and whether they are equal. `form` is what became of the objects: "json" as
        they are, "typed" in Go's structs and protobuf, which have no empty lists, "metadata" that alone."""
        exact = alike = answered = 0
        for name in sorted(os.listdir(folder)):
            group, version, plural = name.removesuffix(".jsonl").split("_")
            api_version = f"{group}/{version}" if group else version
            with open(f"{folder}/{name}") as file:
                store = {identity(item): item for item in map(json.loads, file)}
            objects = self.objects(group, plural)
            if store.keys() != objects.keys():
                return f"{api_version} {plural}: {sorted(store.keys() ^ objects.keys())[:3]} on one side only", False
            for key, item in store.items():
                wanted = objects[key]
                is_same_version = wanted["apiVersion"] == api_version
                if form == "metadata":
                    equal = same(item["metadata"], wanted["metadata"], form)
                elif not is_same_version:
                    # Conversions may keep in annotations what a version has no field for.
                    equal = all(item["metadata"][name] == wanted["metadata"][name] for name in ("uid", "resourceVersion", "creationTimestamp"))
                else:
                    equal = same(item, wanted, form)
                if not equal:
                    return f"{api_version} {plural} {'/'.join(key)} differs from `ketcd get`", False
                exact, alike = exact + is_same_version, alike + (not is_same_version)
                answer = self.answers.get((api_version, plural, *key))
                # What was written between the snapshot and the answers is left out.
                if form != "metadata" and answer and answer["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]:
                    if not same(item, answer, form):
                        return f"{api_version} {plural} {'/'.join(key)} differs from the API server's answer", False
                    answered += 1
        said = f"{exact} objects equal to `ketcd get`"
        if form == "metadata":
            said = f"metadata of {exact + alike} objects equal to `ketcd get`"
        elif alike:
            said += f", of {alike} in other versions uid and revision"
        return said + (f"; {answered} equal to the API server's answers" if answered else ""), True


def identity(item):
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def same(found, wanted, form):
    """Whether an object is the one that is wanted. In Go's structs that came in protobuf no list differs from an empty one, and what is missing is
    written as zero where a struct says so."""
    if form == "json":
        return found == wanted
    if isinstance(found, dict) and isinstance(wanted, dict):
        return all(
            same(found[name], wanted[name], form) if name in found and name in wanted else is_nothing(name, found.get(name), wanted.get(name))
            for name in {*found, *wanted}
        )
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(same(*pair, form) for pair in zip(found, wanted))
    return found == wanted or found in (None, []) and wanted in (None, [])


def is_nothing(name, found, wanted):
    """Whether a member that is on one side alone says nothing."""
    # Protobuf does not say of what kind the objects within an object are.
    return (not found and wanted is None) or (found is None and wanted in (None, [])) or (found is None and name in ("kind", "apiVersion"))


def text(command):
    done = subprocess.run(command, capture_output=True, text=True)
    # 1: nothing was found.
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout
