"""Imitated kubelets: each registers its Node when it starts, renews its Lease, and runs the pods that the API binds to it.

As those of Kubernetes 1.36 (pkg/kubelet, client-go tools/cache/reflector.go), one goes on with what it runs while the API server is away, resumes its watch
where it ended, and stops what it runs only once it has listed its pods and one is not among them. What it runs is what it says, not what the API says.
"""

import http.client
import threading
import time

from api import MERGE, STRATEGIC, Refused

TROUBLE = (OSError, http.client.HTTPException, Refused)

# For how long a kubelet watches before it asks for the same watch anew.
WATCH_SECONDS = 5

# How long a container of a pod with this label runs.
ENDS = "rehearsals/ends-after"


def stamp(seconds=None):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() if seconds is None else seconds))


class Kubelet:
    """One node."""

    def __init__(self, api, storage, name, number, version):
        self.api, self.storage, self.name, self.number, self.version = api, storage, name, number, version
        self.is_on, self.lock = True, threading.Lock()
        # By uid: the pod as it was read, when its containers started, when they ended.
        self.runs, self.pods, self.log = {}, {}, []
        self.addresses = 0
        self.threads = []
        self.start()

    def start(self):
        """Starts the kubelet anew; its containers run on meanwhile."""
        self.is_on, self.has_listed = True, False
        life = self.life = object()
        for work in (self.report, self.follow, self.act):
            thread = threading.Thread(target=self.repeat, args=(work, life), daemon=True)
            thread.start()
            self.threads.append(thread)

    def repeat(self, work, life):
        state = {}
        while self.is_on and self.life is life:
            try:
                work(state)
            except TROUBLE as trouble:
                state["trouble"] = str(trouble)
            time.sleep(0.5)

    def stop(self):
        """Stops the kubelet alone."""
        self.is_on, self.life = False, None

    def die(self):
        """The machine is gone."""
        self.stop()
        with self.lock:
            self.note("machine is gone", None)
            self.runs.clear()

    def note(self, what, uid):
        self.log.append({"time": time.time(), "node": self.name, "what": what, "uid": uid})

    def report(self, state):
        """Registers the Node once, then renews the Lease and the status."""
        if "is_registered" not in state:
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": self.name, "labels": {"kubernetes.io/hostname": self.name},
                "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}}
            try:
                self.api("POST", "/api/v1/nodes", node)
            except Refused as refused:
                if refused.status != 409:
                    raise
            state["is_registered"] = True
        lease, path = {"renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()), "leaseDurationSeconds": 40,
                       "holderIdentity": self.name}, f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        try:
            self.api("PATCH", f"{path}/{self.name}", {"spec": lease}, MERGE)
        except Refused as refused:
            if refused.status != 404:
                raise
            self.api("POST", path, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}, "spec": lease})
        if time.time() - state.get("reported", 0) > 20 or "trouble" in state:
            self.api("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": self.status()}, STRATEGIC)
            state["reported"] = time.time()
            state.pop("trouble", None)
        time.sleep(2)

    def status(self):
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": stamp()}
        return {"capacity": amounts, "allocatable": amounts, "conditions": [ready],
                "addresses": [{"type": "InternalIP", "address": f"192.168.77.{self.number}"}], "nodeInfo": self.info()}

    def info(self):
        names = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeProxyVersion")
        return {**{name: "imitated" for name in names}, "kubeletVersion": self.version, "operatingSystem": "linux", "architecture": "amd64"}

    def follow(self, state):
        """Lists, then watches; an ended watch goes on where it was, a refused one lists anew."""
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}"
        if "revision" not in state:
            listed = self.api("GET", path)
            with self.lock:
                self.pods = {pod["metadata"]["uid"]: pod for pod in listed["items"]}
                self.has_listed = True
                self.note("listed its pods", None)
            state["revision"] = listed["metadata"]["resourceVersion"]
        life = self.life
        try:
            for event in self.api.watch(path, state["revision"], WATCH_SECONDS):
                if self.life is not life:
                    return
                pod, what = event["object"], event["type"]
                if what == "ERROR":
                    raise Refused(pod.get("code", 410), pod.get("message", ""))
                state["revision"] = pod["metadata"]["resourceVersion"]
                with self.lock:
                    if what == "DELETED":
                        self.pods.pop(pod["metadata"]["uid"], None)
                    elif what != "BOOKMARK":
                        self.pods[pod["metadata"]["uid"]] = pod
        except Refused:
            state.pop("revision", None)
            self.note("its watch was refused", None)
            raise

    def act(self, state):
        """Brings what runs to what the API wants."""
        if not self.has_listed:
            return
        with self.lock:
            wanted = dict(self.pods)
            for uid in [uid for uid in self.runs if uid not in wanted]:
                self.note("stopped a pod that the API does not have", uid)
                del self.runs[uid]
        for uid, pod in wanted.items():
            try:
                if pod["metadata"].get("deletionTimestamp"):
                    self.end(uid, pod)
                elif pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                    self.run(uid, pod)
            except TROUBLE as trouble:
                # One pod does not keep the others waiting.
                self.note(f"trouble: {str(trouble)[:200]}", uid)

    def end(self, uid, pod):
        with self.lock:
            if self.runs.pop(uid, None):
                self.note("stopped a pod that is being deleted", uid)
        try:
            self.api("DELETE", path_of(pod), {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        except Refused as refused:
            if refused.status not in (404, 409):
                raise

    def run(self, uid, pod):
        ends = pod["metadata"].get("annotations", {}).get(ENDS)
        if uid not in self.runs and not self.storage.serves(pod, self.name):
            return
        with self.lock:
            run = self.runs.get(uid)
            if run is None:
                self.addresses += 1
                run = self.runs[uid] = {"namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"], "started": time.time(),
                                        "ended": None, "ip": f"10.77.{self.number}.{self.addresses}"}
                self.note("started", uid)
            if ends and run["ended"] is None and time.time() - run["started"] >= float(ends):
                run["ended"] = time.time()
                self.note("ended", uid)
        status = pod_status(pod, run, self.number)
        held = pod.get("status", {})
        if (held.get("phase"), held.get("podIP")) != (status["phase"], status["podIP"]):
            answer = self.api("PATCH", path_of(pod) + "/status", {"metadata": {"uid": uid}, "status": status}, STRATEGIC)
            with self.lock:
                if uid in self.pods:
                    self.pods[uid] = answer


def path_of(pod):
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def pod_status(pod, run, number):
    """What a kubelet says of a pod."""
    has_ended = run["ended"] is not None
    ready = "False" if has_ended else "True"
    state = {"running": {"startedAt": stamp(run["started"])}}
    if has_ended:
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": stamp(run["started"]), "finishedAt": stamp(run["ended"])}}
    containers = [{"name": container["name"], "image": container["image"], "imageID": "", "ready": not has_ended, "started": not has_ended,
                   "restartCount": 0, "state": state} for container in pod["spec"]["containers"]]
    since = stamp(run["ended"] or run["started"])
    conditions = [{"type": kind, "status": ready if kind in ("Ready", "ContainersReady") else "True", "lastTransitionTime": since}
                  for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    return {"phase": "Succeeded" if has_ended else "Running", "conditions": conditions, "containerStatuses": containers,
            "hostIP": f"192.168.77.{number}", "podIP": run["ip"], "podIPs": [{"$patch": "replace"}, {"ip": run["ip"]}], "startTime": stamp(run["started"])}


class Kubelets:
    """Those of a cluster, and what binds pods to them."""

    def __init__(self, api, storage):
        self.api, self.storage, self.nodes, self.numbers, self.past = api, storage, {}, {}, []
        self.is_bound, self.is_over = False, False
        # Nodes that get no new pods.
        self.closed = set()
        # What the kubelets say of their release.
        self.version = "imitated"
        threading.Thread(target=self.bind, daemon=True).start()

    def add(self, *names):
        for name in names:
            self.numbers.setdefault(name, len(self.numbers) + 11)
            self.nodes[name] = Kubelet(self.api, self.storage, name, self.numbers[name], self.version)

    def kill(self, name):
        kubelet = self.nodes.pop(name)
        kubelet.die()
        self.past.extend(kubelet.log)

    def restart(self):
        for kubelet in self.nodes.values():
            kubelet.stop()
        for kubelet in self.nodes.values():
            kubelet.start()

    def upgrade(self, version):
        """Starts all of them anew under another release."""
        self.version = version
        for kubelet in self.nodes.values():
            kubelet.version = version
        self.restart()

    def bind(self):
        """Writes spec.nodeName of each pod that waits: the node with the fewest pods; one that is named by a selector is taken."""
        while not self.is_over:
            time.sleep(0.4)
            if not self.is_bound:
                continue
            try:
                for pod in self.api("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3D")["items"]:
                    self.bind_one(pod)
            except TROUBLE:
                continue

    def bind_one(self, pod):
        if pod["metadata"].get("deletionTimestamp"):
            return
        asked = pod["spec"].get("nodeSelector", {}).get("kubernetes.io/hostname")
        open_nodes = [name for name in self.nodes if name not in self.closed and self.api.get(f"/api/v1/nodes/{name}")]
        if not asked and not open_nodes:
            return
        node = asked or min(open_nodes, key=lambda name: (len(self.nodes[name].pods), name))
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
                   "target": target}
        self.api("POST", path_of(pod) + "/binding", binding)
        if node in self.nodes:
            with self.nodes[node].lock:
                self.nodes[node].pods.setdefault(pod["metadata"]["uid"], {**pod, "spec": {**pod["spec"], "nodeName": node}})

    def report(self):
        """What containers run: by node and uid."""
        found = {}
        for name, kubelet in self.nodes.items():
            with kubelet.lock:
                found[name] = {uid: {"namespace": run["namespace"], "name": run["name"], "ended": run["ended"] is not None}
                               for uid, run in kubelet.runs.items()}
        return found

    def log(self):
        return sorted(self.past + [entry for kubelet in self.nodes.values() for entry in kubelet.log], key=lambda entry: entry["time"])

    def stop(self):
        self.is_over = True
        for kubelet in self.nodes.values():
            kubelet.stop()
