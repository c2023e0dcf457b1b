"""Holds each sentence of a forecast against what happened, by what kubectl, etcd, the kubelets and the storage say; nothing here asks ketcd.

Each function below scores one kind of forecast about one object: right, wrong or not observable, and what shows it.
"""

import base64
import json
import re
from dataclasses import dataclass, field

RIGHT, WRONG, HIDDEN = "right", "wrong", "notObservable"


@dataclass
class Facts:
    """What was seen. Objects are by kind, namespace and name; reports of kubelets by node and uid."""

    backup: dict = field(default_factory=dict)
    newest: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)
    # Keys of the restored etcd before anything wrote to it, and those at the end.
    keys_then: dict = field(default_factory=dict)
    keys_after: dict = field(default_factory=dict)
    # What the kubelets ran when etcd was lost, when the API server was back, and at the end; and what they did.
    ran: dict = field(default_factory=dict)
    ran_on: dict = field(default_factory=dict)
    runs: dict = field(default_factory=dict)
    log: list = field(default_factory=list)
    # What was written since the restore, and when the restored etcd was started.
    events: list = field(default_factory=list)
    restored_at: float = 0.0
    # The storage when etcd was lost.
    storage: dict = field(default_factory=dict)
    # By account or Secret: the answer's status to a request with its token, after the restore.
    tokens: dict = field(default_factory=dict)
    # Answers to requests of the experiment's own.
    reads: dict = field(default_factory=dict)
    # What a watcher saw that resumed where it was: `refused`, `sees` or `silent`.
    watcher: str = ""
    # Nodes that registered when their kubelets were restarted, behind everything else.
    registered: list = field(default_factory=list)
    revisions: dict = field(default_factory=dict)
    sealed: dict = field(default_factory=dict)


def scored(rehearsal, facts):
    """Every sentence about every object, and about none where a forecast names none."""
    found = []
    for forecast in rehearsal["forecasts"]:
        score = KINDS.get(forecast["kind"], hidden)
        for affected in forecast["affected"] or [None]:
            outcome, evidence = score(affected, facts, forecast)
            found.append({"forecast": forecast["kind"], "weight": forecast["weight"], "affected": affected, "outcome": outcome, "evidence": evidence,
                          "says": (affected or forecast)["says"]})
    return found


def place(affected):
    return affected["kind"], affected["namespace"], affected["name"]


def uid(item):
    return item["metadata"].get("uid") if item else None


def hidden(affected, facts, forecast):
    return HIDDEN, "nothing here shows it"


def choose(is_right, evidence):
    return (RIGHT if is_right else WRONG), evidence


def is_again(forecast):
    """Whether controllers make it again, or settle it."""
    return forecast["weight"] == "low"


def children(objects, kind, owner_kind, owner, namespace):
    owned = lambda item: any((of["kind"], of["name"]) == (owner_kind, owner) for of in item["metadata"].get("ownerReferences", []))
    return [item for (of, space, _), item in objects.items() if (of, space) == (kind, namespace) and owned(item)]


def lost_objects(affected, facts, forecast):
    says, item = affected["says"], facts.after.get(place(affected))
    if uid(item) == affected["uid"]:
        return WRONG, "it is there, with the same uid"
    made = re.match(r"its (\S+) (\S+) makes it again", says)
    if made:
        then, now = (len(children(objects, affected["kind"], made[1], made[2], affected["namespace"])) for objects in (facts.newest, facts.after))
        return choose(now >= then, f"{made[1]} {made[2]} had {then} and has {now}")
    lacks = re.match(r"its (\S+) (\S+) makes what it lacks", says)
    if lacks:
        owner = facts.after.get((lacks[1], affected["namespace"], lacks[2]))
        found = children(facts.after, affected["kind"], lacks[1], lacks[2], affected["namespace"])
        # Those that are being deleted, such as on dead nodes, count no more.
        now = sum("deletionTimestamp" not in child["metadata"] for child in found)
        asked = (owner or {}).get("spec", {}).get("replicas", now) if affected["kind"] == "Pod" else max(now, 1)
        return choose(owner is not None and now == asked, f"{lacks[1]} {lacks[2]} asks for {asked} and has {now}")
    gone_with = re.match(r"is lost with its (\S+) (\S+)", says)
    if gone_with:
        space = "" if gone_with[1] == "Namespace" else affected["namespace"]
        owner = [place for place, of in facts.after.items() if (place[0], place[2]) == gone_with.groups() and space in ("", place[1])
                 and uid(of) == uid(facts.newest.get(place))]
        return choose(item is None and not owner, f"it is {'there' if item else 'not there'}, nor is {owner}" if not owner else f"{owner} is there")
    if says == "is made again if a definition of the backup serves it":
        version, _, group = affected["name"].partition(".")
        serving = [name for (kind, _, name), of in facts.after.items() if kind == "CustomResourceDefinition" and of["spec"]["group"] == group
                   and any(entry["name"] == version and entry["served"] for entry in of["spec"]["versions"])]
        return choose((item is not None) == bool(serving), f"it is {'' if item else 'not '}there, served by {serving}")
    if says.startswith("is made again"):
        return choose(item is not None, "it is there under another uid" if item else "it is not there")
    return choose(item is None, "it is not there" if item is None else "one of that name was made")


def value_at(item, path):
    """The value at a path such as `spec.containers[0].image`; None where nothing is, Ellipsis where the path cannot be followed."""
    for part in re.findall(r"\[[^\]]*\]|[^.\[\]]+", path):
        if item is None:
            return None
        if not part.startswith("["):
            item = item.get(part) if isinstance(item, dict) else ...
        elif isinstance(item, dict):
            item = item.get(part[1:-1].strip("\"'"))
        elif part[1:-1].isdigit():
            item = item[int(part[1:-1])] if int(part[1:-1]) < len(item) else None
        else:
            name = part[1:-1].split("=")[-1].strip("\"'")
            item = next((entry for entry in item if isinstance(entry, dict) and name in (entry.get("name"), entry.get("type"))), None)
        if item is ...:
            return ...
    return item


def lost_changes(affected, facts, forecast):
    says = affected["says"]
    before, newest, after = (objects.get(place(affected)) for objects in (facts.backup, facts.newest, facts.after))
    if "comes back" in says:
        return choose(after is not None and uid(after) != uid(newest), "it has not the uid of before" if after else "it is not there")
    named = re.match(r"(.+?)(?: and \d+ more fields?)? go(?:es)? back", says)
    if after is None or uid(after) != uid(before):
        return WRONG, "it is not there as it was"
    if not named:
        return choose(written(after) == written(before) != written(newest), "it is what it was, unlike before the restore")
    values = [(path, value_at(before, path), value_at(newest, path), value_at(after, path)) for path in named[1].split(", ")]
    if any(... in of[1:] for of in values):
        return HIDDEN, f"{named[1]} cannot be followed"
    at_least = f"{values[0][0]}: {values[0][1]!r:.60} then, {values[0][2]!r:.60} before the restore, {values[0][3]!r:.60} now"
    if all(then == now for _, then, _, now in values):
        return RIGHT, at_least
    if is_again(forecast):
        return RIGHT, f"written again: {at_least}"
    if any(now == newest and then != newest for _, then, newest, now in values):
        return WRONG, at_least
    return HIDDEN, f"written since: {at_least}"


def written(item):
    """What somebody wrote of an object: all but its revision."""
    return {**item, "metadata": {name: value for name, value in item["metadata"].items() if name != "resourceVersion"}}


def returns(affected, facts, forecast):
    item = facts.after.get(place(affected))
    if uid(item) == affected["uid"]:
        return RIGHT, "it is there, with its uid"
    key_has_it = any(key.endswith("/" + "/".join(filter(None, place(affected)[1:]))) for key in facts.keys_then)
    if is_again(forecast):
        return choose(key_has_it, "it came back, and a controller deleted it")
    return WRONG, "it came back and was deleted again" if key_has_it else "it did not come back"


def runs_of(report):
    return {uid: {**run, "node": node} for node, runs in report.items() for uid, run in runs.items()}


def did(facts, what, uid):
    return any(entry["uid"] == uid and entry["what"].startswith(what) and entry["time"] > facts.restored_at for entry in facts.log)


def unknown_pods(affected, facts, forecast):
    ran, known = runs_of(facts.ran), {uid(item) for (kind, _, _), item in facts.after.items() if kind == "Pod"}
    if affected["uid"] not in ran or ran[affected["uid"]]["node"] != affected["node"]:
        return WRONG, "no kubelet ran it when etcd was lost"
    if affected["uid"] in known:
        return WRONG, "the API has it"
    if affected["uid"] not in runs_of(facts.ran_on) and not did(facts, "stopped", affected["uid"]):
        return WRONG, "it did not run on"
    maker = re.match(r"(\S+) (\S+) (would make what it lacks|is not in the backup either)", affected["says"])
    if maker:
        found = facts.after.get((maker[1], affected["namespace"], maker[2]))
        if (found is not None) != maker[3].startswith("would"):
            return WRONG, f"{maker[1]} {maker[2]} is {'' if found else 'not '}there"
    if affected["says"].startswith("has no controller") and place(affected) in facts.after:
        return WRONG, "another was made"
    has_listed = any(entry["what"] == "listed its pods" and entry["node"] == affected["node"] and entry["time"] > facts.restored_at for entry in facts.log)
    stopped = did(facts, "stopped a pod that the API does not have", affected["uid"])
    return choose(has_listed == stopped, "its kubelet stopped it when it listed its pods" if stopped else "it runs on, and its kubelet has not listed its pods")


def other_pods(affected, facts, forecast):
    then = re.match(r"runs as (\S+), the backup has ([^ ]+)", affected["says"])
    if affected["uid"] not in runs_of(facts.ran):
        return WRONG, "no kubelet ran it when etcd was lost"
    if not did(facts, "stopped a pod that the API does not have", affected["uid"]):
        return WRONG, "its kubelet did not stop it"
    return started(facts, then[2], "its kubelet stopped it, and that of the backup")


def started(facts, uid_then, who):
    """Whether a pod of the backup was started, as it is if its node and its volumes are there."""
    pod = next((item for item in facts.backup.values() if uid(item) == uid_then), None)
    if pod is None:
        return WRONG, "the backup has no such pod"
    node, namespace = pod["spec"].get("nodeName"), pod["metadata"]["namespace"]
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"].get("volumes", []) if "persistentVolumeClaim" in volume]
    volumes = [facts.backup["PersistentVolumeClaim", namespace, claim]["spec"]["volumeName"] for claim in claims]
    disks = [handle(facts.backup["PersistentVolume", "", volume]) for volume in volumes]
    can_start = node in facts.ran and all(facts.storage["attached"].get(disk, node) == node and disk in facts.storage["disks"] for disk in disks)
    is_started = did(facts, "started", uid_then)
    why = "" if can_start else ", as its node or its volumes are not there"
    return choose(is_started == can_start, f"{who} was {'' if is_started else 'not '}started{why}")


def pods_return(affected, facts, forecast):
    if affected["uid"] in runs_of(facts.ran):
        return WRONG, "it ran when etcd was lost"
    return started(facts, affected["uid"], "it")


def pods_orphaned(affected, facts, forecast):
    item = facts.after.get(place(affected))
    if uid(item) != affected["uid"]:
        return WRONG, "it is not there any more"
    is_terminating = "deletionTimestamp" in item["metadata"]
    node = item["spec"]["nodeName"]
    return choose(is_terminating and node == affected["node"], f"it is {'Terminating' if is_terminating else 'there'} on {node}")


def jobs_again(affected, facts, forecast):
    made = [item for item in children(facts.after, "Pod", "Job", affected["name"], affected["namespace"])
            if did(facts, "started", uid(item))]
    return choose(bool(made), f"{len(made)} of its pods were started after the restore")


def cron_jobs(affected, facts, forecast):
    jobs = children(facts.after, "Job", "CronJob", affected["name"], affected["namespace"])
    due = re.search(r"the run of (\S+?)(?:Z|,)", affected["says"])
    stamped = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    made = [job["metadata"]["annotations"].get(stamped, "") for job in jobs if uid(job) not in {uid(item) for item in facts.newest.values()}]
    if not due:
        return HIDDEN, f"no time is named; {made}"
    return choose(any(time.startswith(due[1]) for time in made), f"made since: {made}")


def stateful_volumes(affected, facts, forecast):
    item = facts.after.get(place(affected))
    then = re.search(r"looked for on (\S+)|come back with (\S+?),", affected["says"])
    if not then:
        return choose(item is None or uid(item) != affected["uid"], "the claim is not that of before")
    volume = item["spec"].get("volumeName") if item else None
    return choose(volume == (then[1] or then[2]), f"its volume is {volume}")


def handle(volume):
    return volume["spec"].get("csi", {}).get("volumeHandle")


def volumes_gone(affected, facts, forecast):
    item = facts.after.get(place(affected))
    if uid(item) != affected["uid"]:
        return WRONG, "the volume did not come back"
    has_disk = handle(item) in facts.storage["disks"]
    if is_again(forecast):
        return choose(has_disk, f"its disk is {'' if has_disk else 'not '}there")
    return choose(not has_disk and item["status"]["phase"] == "Bound", f"it is {item['status']['phase']}, and its disk is {'' if has_disk else 'not '}there")


def volumes_elsewhere(affected, facts, forecast):
    item = facts.after.get(place(affected))
    if "attached" not in affected["says"]:
        claim = item["spec"].get("claimRef", {}) if item else {}
        return choose(f"{claim.get('namespace')}/{claim.get('name')}" == affected["says"].split()[-1], f"it belongs to {claim.get('name')}")
    at = facts.storage["attached"].get(handle(item)) if item else None
    if at != (affected["node"] or None):
        return WRONG, f"it is attached to {at}"
    of = lambda objects: [item for (kind, _, _), item in objects.items()
                          if kind == "VolumeAttachment" and item["spec"]["source"].get("persistentVolumeName") == affected["name"]]
    then, now = of(facts.backup), of(facts.after)
    is_kept = {uid(item) for item in then} <= {uid(item) for item in now}
    return choose(is_kept, f"attached to {at}; the API's attachments say {[item['spec']['nodeName'] for item in now]}, "
                           f"{'those of the backup' if is_kept else 'not those of the backup'}")


def volumes_unknown(affected, facts, forecast):
    item = facts.after.get(place(affected))
    disk = handle(facts.newest[place(affected)])
    return choose(item is None and disk in facts.storage["disks"], f"the API {'has' if item else 'does not have'} it, and its disk is there")


def claims_hang(affected, facts, forecast):
    item = facts.after.get(place(affected))
    if item is None:
        return WRONG, "the claim is not there"
    volume = item["spec"].get("volumeName")
    if "disk is gone" in affected["says"]:
        found = facts.after.get(("PersistentVolume", "", volume))
        return choose(bool(found) and handle(found) not in facts.storage["disks"] and item["status"]["phase"] == "Bound", f"it is bound to {volume}")
    return choose(volume != affected["says"].split()[3], f"it is bound to {volume}")


def ready_of(item):
    return next((condition["status"] for condition in item["status"].get("conditions", []) if condition["type"] == "Ready"), "")


def nodes_gone(affected, facts, forecast):
    item = facts.after.get(place(affected))
    return choose(uid(item) == affected["uid"] and ready_of(item) == "Unknown", f"it is there, Ready is {ready_of(item)}" if item else "it is not there")


def nodes_unknown(affected, facts, forecast):
    if place(affected) in facts.after:
        return WRONG, "it is there before its kubelet was restarted"
    return choose(affected["name"] in facts.registered, "it was missing, and registered when its kubelet was restarted")


def nodes_differ(affected, facts, forecast):
    item = facts.after.get(place(affected))
    taints = [f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in item["spec"].get("taints", [])]
    for says in affected["says"].split("; "):
        taint = says.split()[-1] if "lose the taint" in says else says.split()[-2] if "have the taint" in says else None
        is_right = {
            "is cordoned and would get pods": not item["spec"].get("unschedulable"),
            "would be cordoned again": bool(item["spec"].get("unschedulable")),
            "was made again since": uid(item) != affected["uid"],
        }.get(says)
        if taint:
            is_right = (taint in taints) == ("have the taint" in says)
        if not is_right:
            return (HIDDEN if is_right is None else WRONG), f"{says}: {item['spec']}"
    return RIGHT, f"cordoned: {bool(item['spec'].get('unschedulable'))}, taints: {taints}"


def given(service):
    ports = {f"node port {port['nodePort']}/{port.get('protocol', 'TCP')}" for port in service["spec"].get("ports", []) if port.get("nodePort")}
    return ports | set(service["spec"].get("clusterIPs", []))


def given_twice(affected, facts, forecast):
    if affected["kind"] != "Service":
        return hidden(affected, facts, forecast)
    now = {address: place for place, item in facts.after.items() if place[0] == "Service" for address in given(item)}
    wrong = []
    for part in re.split(r", (?!which)", affected["says"].removeprefix("has ")):
        address, _, holder = part.partition(", which ")
        holds = now.get(address)
        wanted = holder.removesuffix(" has in the backup")
        if (f"{holds[1]}/{holds[2]}" if holds else "") != wanted:
            wrong.append(f"{address} belongs to {holds}")
    return choose(not wrong, "; ".join(wrong) or "each address is held by whom it says")


def callbacks(affected, facts, forecast):
    answer = facts.reads.get("guarded")
    if answer is None or "is answered by" not in affected["says"]:
        return HIDDEN, "no request was made that calls it"
    return choose(answer == 500, f"the API server answered {answer} to a write that it is asked about")


def stored_versions(affected, facts, forecast):
    lost = re.match(r"would no longer serve (.+)", affected["says"]) if affected else None
    if lost:
        answers = {version: facts.reads.get(version) for version in lost[1].split(", ")}
        return choose(all(answer == 404 for answer in answers.values()), f"answers: {answers}")
    stored = re.match(r"([\d,]+) objects? (?:is|are) stored as (\S+) (\w+), which", forecast["says"])
    if stored:
        count = sum(stored_as(entry) == stored.groups()[1:] for entry in facts.keys_then.values())
        return unserved(stored[2], facts, count == int(stored[1].replace(",", "")), f"{count} came back in it")
    kept = re.match(r"objects of (\S+) may be stored as (\w+), which (?:it no longer defines|is no longer served)", forecast["says"])
    if kept:
        definition = facts.after.get(("CustomResourceDefinition", "", kept[1]), {})
        group, found = kept[1].split(".", 1)[1], definition.get("status", {}).get("storedVersions", [])
        return unserved(f"{group}/{kept[2]}", facts, kept[2] in found, f"its definition names {found}")
    return HIDDEN, "no request was made"


def unserved(version, facts, is_stored, evidence):
    """Whether a version that is stored is not served."""
    answer = facts.reads.get(version)
    if answer is None:
        return HIDDEN, f"{evidence}; no request was made"
    return choose(is_stored and answer == 404, f"{evidence}; the API server answered {answer} to a request for {version}")


def stored_as(entry):
    """The version and kind that stand in a stored value."""
    value = base64.b64decode(entry.get("value", ""))
    if value.startswith(b"{"):
        found = json.loads(value)
        return found.get("apiVersion"), found.get("kind")
    # The envelope of protobuf begins with the type: its length, then version and kind, each with its length; all are shorter than 128 bytes.
    if not value.startswith(b"k8s\0\x0a"):
        return None
    version, rest = value[8:8 + value[7]], value[8 + value[7]:]
    return version.decode(), rest[2:2 + rest[1]].decode()


def encryption_keys(affected, facts, forecast):
    words = affected["says"].split()
    if not facts.reads or not words[0].isdigit():
        return HIDDEN, "no request was made"
    name = affected["name"].split()[1]
    is_right = not facts.reads["is ready"] and facts.reads["second"] >= 500 and facts.reads["both"] == 200 and facts.sealed.get(name) == int(words[0])
    return choose(is_right, f"{facts.sealed} values; without the key {facts.reads['second']}, with it {facts.reads['both']}")


def api_servers(affected, facts, forecast):
    if affected["kind"] == "endpoints":
        found = facts.after.get(("Endpoints", "default", "kubernetes"), {})
        served = [address["ip"] for subset in found.get("subsets", []) for address in subset.get("addresses", [])]
        return choose(affected["name"] not in served, f"the kubernetes Service has {served}")
    key = next((key for key in facts.keys_then if f"/{affected['kind']}/" in key and key.endswith(affected["name"])), None)
    if key is None:
        return WRONG, "the backup has no such key"
    vanishes = "vanishes" in affected["says"]
    return choose((key not in facts.keys_after) == vanishes, f"its key came back, and is {'gone' if key not in facts.keys_after else 'there'}")


def leader(item):
    """Who holds a lock that is kept in an annotation."""
    record = (item or {}).get("metadata", {}).get("annotations", {}).get("control-plane.alpha.kubernetes.io/leader")
    return json.loads(record)["holderIdentity"] if record else None


def leader_locks(affected, facts, forecast):
    said = re.match(r"is held by (\S+) for (\d+) s", affected["says"])
    item = facts.backup.get(place(affected))
    if affected["kind"] != "Lease":
        then, now = (leader(of.get(place(affected))) for of in (facts.backup, facts.after))
        return choose(said and said[1] == then == now, f"its annotation named {then} in the backup, and names {now}")
    key = f"/registry/leases/{affected['namespace']}/{affected['name']}"
    first = next((event["time"] for event in facts.events if event["key"] == key), None)
    if not said or not item or item["spec"].get("holderIdentity") != said[1]:
        return WRONG, "the backup does not say so"
    if first is None:
        return HIDDEN, "nobody took it"
    waited = first - facts.revisions["controllers_at"]
    return choose(waited >= int(said[2]) - 1, f"the next leader took it {waited:.0f} s after it was started")


def tokens(affected, facts, forecast):
    answer = facts.tokens.get((affected["kind"], affected["namespace"], affected["name"], affected["uid"]))
    if answer is None:
        return HIDDEN, "no request was made with it"
    return choose(answer == (200 if "valid again" in affected["says"] else 401), f"the API server answered {answer}")


def watchers(affected, facts, forecast):
    back, then, now = (facts.revisions[name] for name in ("restored", "backup", "newest"))
    said = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d|\d", forecast["says"])][:3]
    if said != [now - then, now, then]:
        return WRONG, f"{then} and {now} are the revisions"
    if back > now:
        return choose(facts.watcher == "refused", f"they were raised to {back}, and the watcher's is {facts.watcher}")
    return choose(facts.watcher == "silent", f"they went back to {back}, and the watcher is {facts.watcher}")


def events(affected, facts, forecast):
    if affected is None:
        names = lambda objects: {(place[1], place[2]) for place in objects if place[0] == "Event"}
        back = names(facts.backup) - names(facts.newest)
        is_back = all(any(key.endswith(f"/{space}/{name}") for key in facts.keys_then) for space, name in back)
        said = re.search(r"and ([\d,]+) deleted since would be back", forecast["says"])
        return choose(is_back and (said[1] if said else "0") == f"{len(back):,}", f"{len(back)} came back")
    is_there = any(key.startswith("/registry/events/") and key.endswith(f"/{affected['name']}") for key in facts.keys_then)
    return choose(is_there == affected["says"].startswith("goes back"), f"its key is {'' if is_there else 'not '}there")


KINDS = {
    "lostObjects": lost_objects, "lostChanges": lost_changes, "returns": returns, "unknownPods": unknown_pods, "otherPods": other_pods,
    "podsReturn": pods_return, "podsOrphaned": pods_orphaned, "jobsAgain": jobs_again, "cronJobs": cron_jobs, "statefulVolumes": stateful_volumes,
    "volumesGone": volumes_gone, "volumesElsewhere": volumes_elsewhere, "volumesUnknown": volumes_unknown, "claimsHang": claims_hang,
    "nodesGone": nodes_gone, "nodesUnknown": nodes_unknown, "nodesDiffer": nodes_differ, "givenTwice": given_twice,
    "callbacks": callbacks, "storedVersions": stored_versions, "encryptionKeys": encryption_keys, "apiServers": api_servers, "leaderLocks": leader_locks, "tokens": tokens,
    "watchers": watchers, "events": events,
}
