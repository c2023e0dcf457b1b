"""kubectl of several releases: tables and objects of every resource, a page of each kind, and what else people ask."""

import json
import re
import subprocess

import builds
from server import Server
from wanted import identity

# Arguments, the exit code, and what is printed.
QUESTIONS = [
    (["version"], 0, r"Server Version:.*\+ketcd"),
    (["auth", "can-i", "list", "pods"], 0, r"^yes$"),
    (["auth", "can-i", "delete", "pods"], 1, r"^no"),
    (["delete", "namespace", "default", "--wait=false"], 1, r"recording"),
    (["get", "--raw", "/readyz"], 0, r"^ok"),
]

# The group and version of a request that was not found, in the log of any release.
URL = re.compile(r"https?://[^/]*/apis/([^/]*/[^/]*)/.*\b404\b")


def kubectl(wanted):
    for release in builds.KUBECTLS:
        shown = release.replace("v0.", "1.")
        program = builds.kubectl(release)
        with Server(wanted.ketcd, wanted.snapshot) as server:

            def run(*words):
                command = [program, "--kubeconfig", server.kubeconfig, *words]
                return subprocess.run(command, capture_output=True, text=True, timeout=60)

            for did, check, said in (
                ("`get` and `get -o json` of every resource", tables, "resources as `ketcd get` prints them"),
                ("`describe` of one object of every resource", pages, "pages"),
            ):
                count, wrong, left = check(wanted, run)
                left = f"; {left} asked for in a version that the release does not serve" if left else ""
                yield "kubectl", shown, did, wrong[0] if wrong else f"{count} {said}{left}", not wrong
            # Older ones explain by OpenAPI v2 and are told so.
            explained = (0, r"imagePullPolicy\s+<string>") if int(shown.split(".")[1]) >= 27 else (1, "from 1.27 on")
            questions = [*QUESTIONS, (["explain", "pod.spec.containers"], *explained)]
            wrong = [" ".join(words) for words, code, pattern in questions if not answers(run(*words), code, pattern)]
            asked = ", ".join(f"`{' '.join(words)}`" for words, _, _ in questions)
            yield "kubectl", shown, asked, f"not as it should be: {', '.join(wrong)}" if wrong else "as it should be", not wrong


def answers(done, code, pattern):
    return done.returncode == code and re.search(pattern, done.stdout + done.stderr, re.MULTILINE | re.DOTALL)


def resources(run):
    listed = run("api-resources", "--verbs=list", "-o", "name").stdout.split()
    # Nothing of it is stored.
    return [name for name in listed if name != "componentstatuses"]


def tables(wanted, run):
    """How many resources there are, which are not printed as `ketcd get` prints them, and how many cannot be."""
    wrong, names = [], resources(run)
    for name in names:
        plural, _, group = name.partition(".")
        printed = run("get", name, "-A", "-o", "json", "--show-managed-fields").stdout
        objects = {identity(item): item for item in json.loads(printed)["items"]}
        kept = wanted.objects(group, plural)
        # Another version than the one that is stored is compared by the tests of serve.
        same = {key: item for key, item in objects.items() if item["apiVersion"] == kept.get(key, item)["apiVersion"]}
        if objects.keys() != kept.keys() or any(item != kept[key] for key, item in same.items()):
            wrong.append(f"`get {name} -o json` differs from `ketcd get`")
        if run("get", name, "-A").stdout != wanted.get(name, "-A"):
            wrong.append(f"`get {name}` differs from `ketcd get`")
    return len(names), wrong, 0


def pages(wanted, run):
    """Of how many resources an object's page has its name, of which it does not, and how many cannot be asked for."""
    wrong, count, left = [], 0, 0
    for name in resources(run):
        plural, _, group = name.partition(".")
        objects = wanted.objects(group, plural)
        if not objects:
            continue
        namespace, own = next(iter(objects))
        words = ["describe", name, own, *(["-n", namespace] if namespace else [])]
        done = run(*words)
        if done.returncode == 0 and re.search(rf"^Name:\s+{re.escape(own)}$", done.stdout, re.MULTILINE):
            count += 1
            continue
        # An old kubectl asks in versions that the data's release does not serve, and a new one in versions that it did not have yet.
        refused = [url[1] for url in map(URL.search, run(*words, "-v=6").stderr.splitlines()) if url]
        if not refused or any(f'"name":"{plural}"' in run("get", "--raw", f"/apis/{version}").stdout for version in refused):
            wrong.append(f"`describe {name} {own}`: {(done.stderr or done.stdout)[:200]!r}")
        else:
            left += 1
    return count, wrong, left
