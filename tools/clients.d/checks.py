"""The clients of tools/clients: each yields rows of client, release, what it did, outcome, and whether that is as it should be."""

import json
import os
import subprocess
import tempfile

import builds
from kubectl import kubectl
from server import Server
from terminal import k9s

# How many sets of informers run at once, and how long a program of informers may take.
MANY = 50
LIMIT = 400


def informers(wanted):
    program = builds.informers()
    for mode, form, what in (("dynamic", "json", "dynamic informers"), ("typed", "typed", "typed informers in protobuf"), ("metadata", "metadata", "metadata informers")):
        for watch_list in (True, False):
            with Server(wanted.ketcd, wanted.snapshot) as server, tempfile.TemporaryDirectory() as folder:
                did = f"{what}, WatchList {'on' if watch_list else 'off'}"
                found, error = informers_run(program, server, watch_list, "-mode", mode, "-out", folder)
                outcome, is_right = (error, False) if error else wanted.compare(folder, form)
                if is_right:
                    wrong = unexpected(found, mode, watch_list)
                    outcome, is_right = (wrong, False) if wrong else (f"{found['resources']} stores in {found['seconds']:.1f} s, {outcome}", True)
                yield "client-go", builds.CLIENT_GO, did, outcome, is_right


def unexpected(found, mode, watch_list):
    """What was asked otherwise than the client meant to, and what came that is no success or not in the form asked for."""
    wrong = [f"{count} times {answer}" for answer, count in found["answers"].items() if not answer.startswith("200 ")]
    if mode == "typed":
        # The version has no protobuf.
        wrong += [f"{count} times {answer}" for answer, count in found["answers"].items() if answer.endswith("/json") and count > 1]
    how, other = ("streaming list", "list") if watch_list else ("list", "streaming list")
    if found["requests"].get(how) != found["resources"] or other in found["requests"]:
        wrong.append(f"requests {found['requests']}")
    return ", ".join(wrong)


def many_informers(wanted):
    program = builds.informers()
    for watch_list in (True, False):
        with Server(wanted.ketcd, wanted.snapshot) as server:
            found, error = informers_run(program, server, watch_list, "-factories", str(MANY))
            heap = f"serve: {server.cpu:.1f} s CPU, heap {server.heap >> 20} MB at most"
        did = f"{MANY} factories of dynamic informers at once, WatchList {'on' if watch_list else 'off'}"
        outcome = error or f"{found['informers']} informers, {found['objects']} objects a factory, in sync in {found['seconds']:.1f} s, stores equal; {heap}"
        yield "client-go", builds.CLIENT_GO, did, outcome, not error


def informers_run(program, server, watch_list, *flags):
    environment = dict(os.environ, KUBE_FEATURE_WatchListClient=str(watch_list).lower())
    if watch_list and "-factories" not in flags:
        # client-go lists once more what came as a watch, and panics where the two differ.
        environment["KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"] = "true"
    return answer([program, "-kubeconfig", server.kubeconfig, *flags], environment)


def reflectors(wanted):
    program = builds.reflectors()
    for how, did in (("list", "reflectors by list and watch"), ("stream", "reflectors by streaming lists")):
        with Server(wanted.ketcd, wanted.snapshot) as server, tempfile.TemporaryDirectory() as folder:
            found, error = answer([program, server.kubeconfig, folder, how], os.environ)
            outcome, is_right = (error, False) if error else wanted.compare(folder, "json")
            outcome = f"{found['resources']} stores in {found['seconds']:.1f} s, {outcome}" if is_right else outcome
            yield "kube-rs", builds.kube_rs(), did, outcome, is_right


def answer(command, environment):
    """What a program says at its end, or its error."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, f"not done after {LIMIT} s"
    return (json.loads(done.stdout), None) if done.returncode == 0 else (None, done.stderr.strip()[-600:])


CHECKS = {"informers": informers, "many-informers": many_informers, "reflectors": reflectors, "kubectl": kubectl, "k9s": k9s}
