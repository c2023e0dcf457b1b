"""The experiments: what is there when the backup is taken, and what happens until etcd is lost."""

import json
import time

from api import MERGE, Refused
from cluster import key_of_32_bytes
from kubelets import ENDS

APPS = "/apis/apps/v1/namespaces/{}/{}"
BATCH = "/apis/batch/v1/namespaces/{}/{}"
CORE = "/api/v1/namespaces/{}/{}"


class Experiment:
    """One experiment; those below say what they change."""

    nodes = ("n1", "n2")
    members = 1
    # Whether the newest state is the member's data dir, else a snapshot.
    is_newest_a_data_dir = True
    # Whether revisions are raised, as the printed command says.
    is_raised = True

    def configure(self, c):
        """Before anything is started."""

    def prepare(self, c):
        """Until the backup."""

    def go_on(self, c):
        """From the backup until etcd is lost."""

    def before_server(self, c):
        """After the restore, before the API server is started."""

    def await_server(self, c):
        """Until the API server serves the restored data."""
        c.wait_for_server()

    def look(self, c, facts):
        """When the API server runs, before the controllers do."""

    def is_settled(self, c):
        """Whether all that is awaited has come."""
        return True


def named(name, labels=None, **more):
    return {"name": name, **({"labels": labels} if labels else {}), **more}


def template(name, annotations=None, image="one", **spec):
    metadata = {"labels": {"app": name}, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": f"registry.example/{name}:{image}"}], **spec}}


def make(c, path, api_version, kind, metadata, **fields):
    return c.api("POST", path, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})


def patch(c, path, fields):
    return c.api("PATCH", path, fields, MERGE)


def namespace(c, name):
    make(c, "/api/v1/namespaces", "v1", "Namespace", {"name": name})
    c.wait(f"the account of {name}", lambda: c.api.get(CORE.format(name, "serviceaccounts/default")))


def deployment(c, space, name, replicas=2, **spec):
    fields = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name, **spec)}
    make(c, APPS.format(space, "deployments"), "apps/v1", "Deployment", named(name), spec=fields)


def stateful_set(c, space, name, replicas=1, claim=None):
    spec = {}
    if claim:
        spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}
    fields = {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": {"app": name}}, "podManagementPolicy": "Parallel",
              "template": template(name, **spec)}
    make(c, APPS.format(space, "statefulsets"), "apps/v1", "StatefulSet", named(name), spec=fields)


def bare_pod(c, space, name, **metadata):
    body = template(name)
    make(c, CORE.format(space, "pods"), "v1", "Pod", named(name, **metadata), spec=body["spec"])


def config(c, space, name, **data):
    make(c, CORE.format(space, "configmaps"), "v1", "ConfigMap", named(name), data=data)


def ready(c, space, kind, name, replicas):
    def is_ready():
        status = c.api("GET", APPS.format(space, f"{kind}/{name}")).get("status", {})
        return status.get("readyReplicas", 0) == replicas == status.get("replicas", 0) and status.get("updatedReplicas", replicas) == replicas
    c.wait(f"{kind}/{name}", is_ready, 60)


def pods(c, space, name=None):
    selector = f"?labelSelector=app%3D{name}" if name else ""
    return c.api("GET", CORE.format(space, "pods") + selector)["items"]


def running(c, space, name):
    c.wait(f"pod/{name}", lambda: c.api("GET", CORE.format(space, f"pods/{name}")).get("status", {}).get("phase") == "Running", 60)


def gone(c, path, seconds=60):
    c.wait(f"the end of {path}", lambda: c.api.get(path) is None, seconds)


def delete(c, path):
    c.api("DELETE", path, {"propagationPolicy": "Background"})


class Fresh(Experiment):
    """A fresh backup: nothing happens but signs of life."""

    def prepare(self, c):
        namespace(c, "shop")
        deployment(c, "shop", "web")
        config(c, "shop", "settings", colour="red")
        ready(c, "shop", "deployments", "web", 2)

    def go_on(self, c):
        before = c.etcd.revision()
        c.wait("signs of life", lambda: c.etcd.revision() > before + 5, 60)


class Old(Experiment):
    """An old backup: objects of every writer are made, changed, rolled out and deleted."""

    is_newest_a_data_dir = False

    def prepare(self, c):
        namespace(c, "shop")
        for name in ("web", "old", "rolled"):
            deployment(c, "shop", name)
        config(c, "shop", "settings", colour="red")
        config(c, "shop", "forgotten", colour="grey")
        bare_pod(c, "shop", "alone")
        for name in ("web", "old", "rolled"):
            ready(c, "shop", "deployments", name, 2)
        running(c, "shop", "alone")

    def go_on(self, c):
        c.kubectl("scale", "-n", "shop", "deployment/web", "--replicas=4")
        patch(c, CORE.format("shop", "configmaps/settings"), {"data": {"colour": "blue"}})
        delete(c, CORE.format("shop", "configmaps/forgotten"))
        delete(c, APPS.format("shop", "deployments/old"))
        c.kubectl("set", "image", "-n", "shop", "deployment/rolled", "main=registry.example/rolled:two")
        delete(c, CORE.format("shop", "pods/alone"))
        bare_pod(c, "shop", "later")
        deployment(c, "shop", "new")
        fields = {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent")}
        make(c, APPS.format("shop", "daemonsets"), "apps/v1", "DaemonSet", named("agent"), spec=fields)
        make(c, CORE.format("shop", "services"), "v1", "Service", named("web"), spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
        ready(c, "shop", "deployments", "web", 4)
        ready(c, "shop", "deployments", "rolled", 2)
        ready(c, "shop", "deployments", "new", 2)
        running(c, "shop", "later")
        gone(c, CORE.format("shop", "pods/alone"))
        c.wait("the end of old", lambda: not pods(c, "shop", "old"))


class DeletedNamespace(Experiment):
    """A namespace with all that was in it is deleted."""

    def prepare(self, c):
        namespace(c, "shop")
        deployment(c, "shop", "web")
        config(c, "shop", "settings", colour="red")
        make(c, CORE.format("shop", "secrets"), "v1", "Secret", named("password"), stringData={"word": "open"})
        make(c, CORE.format("shop", "services"), "v1", "Service", named("web"), spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
        ready(c, "shop", "deployments", "web", 2)

    def go_on(self, c):
        delete(c, "/api/v1/namespaces/shop")
        gone(c, "/api/v1/namespaces/shop")


class CreatedNamespace(Experiment):
    """A namespace with a Deployment is made."""

    def prepare(self, c):
        namespace(c, "shop")
        config(c, "shop", "settings", colour="red")

    def go_on(self, c):
        namespace(c, "fresh")
        deployment(c, "fresh", "web")
        config(c, "fresh", "settings", colour="red")
        make(c, CORE.format("fresh", "services"), "v1", "Service", named("web"), spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
        ready(c, "fresh", "deployments", "web", 2)


class MovedVolume(Experiment):
    """A StatefulSet's pod and its volume move to another node."""

    def prepare(self, c):
        namespace(c, "shop")
        c.storage.volume("one", "shop", "data")
        c.kubelets.closed = {"n2"}
        stateful_set(c, "shop", "db", claim="data")
        ready(c, "shop", "statefulsets", "db", 1)

    def go_on(self, c):
        c.kubelets.closed = {"n1"}
        delete(c, CORE.format("shop", "pods/db-0"))
        c.wait("the move", lambda: c.storage.attached.get("disk-one") == "n2", 60)
        ready(c, "shop", "statefulsets", "db", 1)
        c.kubelets.closed = set()


class DeletedVolume(Experiment):
    """Volumes are deleted with their disks, deleted without, and made."""

    def prepare(self, c):
        namespace(c, "shop")
        c.storage.volume("scratch", "shop", "scratch", "Delete")
        c.storage.volume("kept", "shop", "kept", "Retain")
        stateful_set(c, "shop", "db", claim="scratch")
        ready(c, "shop", "statefulsets", "db", 1)
        c.wait("kept", lambda: c.api("GET", "/api/v1/persistentvolumes/kept")["status"].get("phase") == "Bound")

    def go_on(self, c):
        delete(c, APPS.format("shop", "statefulsets/db"))
        delete(c, CORE.format("shop", "persistentvolumeclaims/scratch"))
        delete(c, CORE.format("shop", "persistentvolumeclaims/kept"))
        gone(c, "/api/v1/persistentvolumes/scratch")
        gone(c, CORE.format("shop", "persistentvolumeclaims/kept"))
        delete(c, "/api/v1/persistentvolumes/kept")
        gone(c, "/api/v1/persistentvolumes/kept")
        c.storage.volume("later", "shop", "later")
        c.wait("later", lambda: c.api("GET", "/api/v1/persistentvolumes/later")["status"].get("phase") == "Bound")


class DeadNode(Experiment):
    """A node dies and is deleted; its pods move."""

    nodes = ("n1", "n2", "n3")

    def prepare(self, c):
        namespace(c, "shop")
        deployment(c, "shop", "web", 3)
        stateful_set(c, "shop", "db", 3)
        ready(c, "shop", "deployments", "web", 3)
        ready(c, "shop", "statefulsets", "db", 3)

    def go_on(self, c):
        c.kubelets.kill("n3")
        delete(c, "/api/v1/nodes/n3")
        # Pods of a node that is not there are deleted after a while, which is cut short here as an operator does it.
        for pod in pods(c, "shop"):
            if pod["spec"].get("nodeName") == "n3":
                name = pod["metadata"]["name"]
                c.kubectl("delete", "pod", "-n", "shop", name, "--force", "--grace-period=0", "--wait=false")
        c.wait("no pod of n3", lambda: all(pod["spec"].get("nodeName") != "n3" for pod in pods(c, "shop")))
        ready(c, "shop", "deployments", "web", 3)
        ready(c, "shop", "statefulsets", "db", 3)

    def is_settled(self, c):
        node = c.api("GET", "/api/v1/nodes/n3")
        conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        of_node = [pod for pod in pods(c, "shop") if pod["spec"].get("nodeName") == "n3"]
        return conditions["Ready"] != "True" and all(pod["metadata"].get("deletionTimestamp") for pod in of_node)


class NewNode(Experiment):
    """A node joins and gets pods; another is cordoned and tainted."""

    def prepare(self, c):
        namespace(c, "shop")
        deployment(c, "shop", "web", 2)
        ready(c, "shop", "deployments", "web", 2)

    def go_on(self, c):
        c.kubelets.add("n3")
        c.wait("n3", lambda: c.api.get("/api/v1/nodes/n3"))
        c.kubectl("scale", "-n", "shop", "deployment/web", "--replicas=5")
        ready(c, "shop", "deployments", "web", 5)
        c.kubectl("cordon", "n2")
        c.kubectl("taint", "node", "n1", "dedicated=shop:NoSchedule")


class RotatedKeys(Experiment):
    """Secrets are sealed under a new key, and the API server has the old one no more."""

    def configure(self, c):
        c.first, c.second = key_of_32_bytes(), key_of_32_bytes()
        c.keys = {"first": c.first}

    def prepare(self, c):
        namespace(c, "shop")
        for name in ("one", "two"):
            make(c, CORE.format("shop", "secrets"), "v1", "Secret", named(name), stringData={"word": name})

    def go_on(self, c):
        c.stop_controllers()
        c.keys = {"second": c.second, "first": c.first}
        self.restart(c)
        for name in ("one", "two"):
            patch(c, CORE.format("shop", f"secrets/{name}"), {"metadata": {"annotations": {"written": "anew"}}})
        c.keys = {"second": c.second}
        self.restart(c)
        c.start_controllers()

    def restart(self, c):
        c.stop_server()
        c.start_server()
        c.wait_for_server()

    def await_server(self, c):
        # It does not become ready while it cannot read what it caches.
        try:
            c.wait("the API server", c.api.is_ready, 25)
            self.is_ready = True
        except TimeoutError:
            self.is_ready = False

    def look(self, c, facts):
        facts.reads["is ready"] = self.is_ready
        facts.reads["second"] = status(c, CORE.format("shop", "secrets/one"))
        c.keys = {"second": c.second, "first": c.first}
        self.restart(c)
        facts.reads["both"] = status(c, CORE.format("shop", "secrets/one"))


def status(c, path):
    try:
        c.api("GET", path)
        return 200
    except Refused as refused:
        return refused.status


class Definitions(Experiment):
    """Custom kinds get a version, lose their definition, or come with objects."""

    def prepare(self, c):
        namespace(c, "shop")
        for name in ("gadgets", "relics"):
            definition(c, name, ["v1"])
        c.wait("gadgets", lambda: c.api.get("/apis/rehearsals.example/v1/namespaces/shop/gadgets"))
        c.wait("relics", lambda: c.api.get("/apis/rehearsals.example/v1/namespaces/shop/relics"))
        custom(c, "gadgets", "v1", "first")
        custom(c, "relics", "v1", "first")

    def go_on(self, c):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        patch(c, f"{path}/gadgets.rehearsals.example", {"spec": {"versions": versions(["v1", "v2"])}})
        c.wait("v2", lambda: c.api.get("/apis/rehearsals.example/v2/namespaces/shop/gadgets"))
        custom(c, "gadgets", "v2", "second")
        delete(c, f"{path}/relics.rehearsals.example")
        gone(c, f"{path}/relics.rehearsals.example")
        definition(c, "novelties", ["v1"])
        c.wait("novelties", lambda: c.api.get("/apis/rehearsals.example/v1/namespaces/shop/novelties"))
        custom(c, "novelties", "v1", "first")

    def look(self, c, facts):
        facts.reads["v1"] = status(c, "/apis/rehearsals.example/v1/namespaces/shop/gadgets")
        facts.reads["v2"] = status(c, "/apis/rehearsals.example/v2/namespaces/shop/gadgets")


def versions(names, retired=()):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return [{"name": name, "served": name not in retired, "storage": name == names[-1], "schema": schema} for name in names]


def definition(c, name, names):
    kind = name.capitalize()
    spec = {"group": "rehearsals.example", "scope": "Namespaced", "names": {"plural": name, "kind": kind, "singular": name[:-1]}, "versions": versions(names)}
    make(c, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "apiextensions.k8s.io/v1", "CustomResourceDefinition",
         {"name": f"{name}.rehearsals.example"}, spec=spec)


def custom(c, name, version, of):
    path = f"/apis/rehearsals.example/{version}/namespaces/shop/{name}"

    def is_made():
        try:
            make(c, path, f"rehearsals.example/{version}", name.capitalize(), {"name": of}, spec={"of": version})
        except Refused as refused:
            return refused.status == 409
        return True
    c.wait(f"{name}/{of}", is_made)


class UpgradedServer(Experiment):
    """The API server is upgraded from 1.33, as 1.36 emulates it: versions that are stored in the backup are served no more."""

    classes = "/apis/storage.k8s.io/{}/volumeattributesclasses"
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.rehearsals.example"
    gadgets = "/apis/rehearsals.example/{}/namespaces/shop/gadgets"

    def configure(self, c):
        c.release, c.served = "1.33", ["storage.k8s.io/v1beta1=true"]
        c.kubelets.version = "v1.33.9"

    def prepare(self, c):
        namespace(c, "shop")
        deployment(c, "shop", "web")
        for name in ("fast", "slow"):
            make(c, self.classes.format("v1beta1"), "storage.k8s.io/v1beta1", "VolumeAttributesClass", named(name), driverName="disks.rehearsals.example",
                 parameters={"speed": name})
        # A version that objects are stored in, and that its definition serves no more.
        definition(c, "gadgets", ["v1alpha1"])
        c.wait("gadgets", lambda: c.api.get(self.gadgets.format("v1alpha1")))
        custom(c, "gadgets", "v1alpha1", "first")
        patch(c, self.definition, {"spec": {"versions": versions(["v1alpha1", "v1"], ["v1alpha1"])}})
        c.wait("v1", lambda: c.api.get(self.gadgets.format("v1")) and c.api.get(self.gadgets.format("v1alpha1")) is None)
        ready(c, "shop", "deployments", "web", 2)

    def go_on(self, c):
        c.stop_controllers()
        c.stop_server()
        c.release, c.served = None, []
        c.start_server()
        c.wait_for_server()
        c.start_controllers()
        c.kubelets.upgrade("v1.36.3")
        c.wait("the kubelets' upgrade", lambda: {node["status"]["nodeInfo"]["kubeletVersion"] for node in c.api("GET", "/api/v1/nodes")["items"]} == {"v1.36.3"})
        # What the running release stores is rewritten, and the version that is not served any more goes.
        patch(c, self.classes.format("v1") + "/fast", {"metadata": {"labels": {"written": "anew"}}})
        patch(c, self.gadgets.format("v1") + "/first", {"metadata": {"labels": {"written": "anew"}}})
        patch(c, self.definition + "/status", {"status": {"storedVersions": ["v1"]}})
        patch(c, self.definition, {"spec": {"versions": versions(["v1"])}})

    def look(self, c, facts):
        facts.reads["storage.k8s.io/v1beta1"] = status(c, self.classes.format("v1beta1"))
        facts.reads["rehearsals.example/v1alpha1"] = status(c, self.gadgets.format("v1alpha1"))


class ThreeMembers(Experiment):
    """Three members, of which one was stopped earlier."""

    members = 3

    def prepare(self, c):
        namespace(c, "shop")
        deployment(c, "shop", "web")
        ready(c, "shop", "deployments", "web", 2)

    def go_on(self, c):
        config(c, "shop", "seen-by-all", number="3")
        c.end(c.members["m3"])
        config(c, "shop", "seen-by-two", number="2")
        c.kubectl("scale", "-n", "shop", "deployment/web", "--replicas=3")
        ready(c, "shop", "deployments", "web", 3)


class Jobs(Experiment):
    """Jobs end, their pods are deleted, and a CronJob runs."""

    def prepare(self, c):
        namespace(c, "shop")
        for name in ("steady", "swept", "vanished"):
            fields = {"template": template(name, {ENDS: "15"}, restartPolicy="Never")}
            make(c, BATCH.format("shop", "jobs"), "batch/v1", "Job", named(name), spec=fields)
        job = {"template": template("hourly", {ENDS: "3"}, restartPolicy="Never")}
        # Due within the next minute or the one after, and then not for an hour.
        self.minute = (int(time.time() + 25) // 60 + 1) % 60
        fields = {"schedule": f"{self.minute} * * * *", "timeZone": "Etc/UTC", "jobTemplate": {"spec": job}}
        make(c, BATCH.format("shop", "cronjobs"), "batch/v1", "CronJob", named("hourly"), spec=fields)
        for name in ("steady", "swept", "vanished"):
            c.wait(f"job/{name}", lambda: [pod for pod in pods(c, "shop", name) if pod.get("status", {}).get("phase") == "Running"])

    def go_on(self, c):
        def has_ended(name):
            conditions = c.api("GET", BATCH.format("shop", f"jobs/{name}")).get("status", {}).get("conditions", [])
            return any(condition["type"] == "Complete" and condition["status"] == "True" for condition in conditions)
        for name in ("steady", "swept", "vanished"):
            c.wait(f"the end of job/{name}", lambda: has_ended(name), 60)
        for pod in pods(c, "shop", "swept"):
            delete(c, CORE.format("shop", f"pods/{pod['metadata']['name']}"))
        delete(c, BATCH.format("shop", "jobs/vanished"))
        c.wait("the run of cronjob/hourly", lambda: c.api("GET", BATCH.format("shop", "cronjobs/hourly")).get("status", {}).get("lastSuccessfulTime"), 120)
        c.wait("the end of pods", lambda: not pods(c, "shop", "swept") and not pods(c, "shop", "vanished"))

    def is_settled(self, c):
        jobs = c.api("GET", BATCH.format("shop", "jobs"))["items"]
        return all(job.get("status", {}).get("completionTime") for job in jobs)


class StatefulSets(Experiment):
    """The pods of a StatefulSet are made again: same names, other uids, on either node."""

    def prepare(self, c):
        namespace(c, "shop")
        stateful_set(c, "shop", "db", 3)
        ready(c, "shop", "statefulsets", "db", 3)

    def go_on(self, c):
        before = {pod["metadata"]["uid"] for pod in pods(c, "shop", "db")}
        for name in ("db-0", "db-1", "db-2"):
            delete(c, CORE.format("shop", f"pods/{name}"))
        c.wait("other pods", lambda: not before & {pod["metadata"]["uid"] for pod in pods(c, "shop", "db")})
        ready(c, "shop", "statefulsets", "db", 3)


class Addresses(Experiment):
    """A node port and a cluster address are given to another Service."""

    def prepare(self, c):
        namespace(c, "shop")
        self.service(c, "first", 30080, "10.96.7.7")

    def go_on(self, c):
        delete(c, CORE.format("shop", "services/first"))
        gone(c, CORE.format("shop", "services/first"))
        self.service(c, "second", 30080, "10.96.7.7")
        self.service(c, "third", 30081, "10.96.7.8")

    def service(self, c, name, port, address):
        def is_made():
            fields = {"type": "NodePort", "clusterIP": address, "selector": {"app": name}, "ports": [{"port": 80, "nodePort": port}]}
            try:
                make(c, CORE.format("shop", "services"), "v1", "Service", named(name), spec=fields)
            except Refused as refused:
                # Freed addresses are given back by a loop of the API server.
                return refused.status == 409
            return True
        c.wait(f"service/{name}", is_made, 60)


class Watchers(Experiment):
    """A watcher that runs through the restore; revisions are raised as printed."""

    def prepare(self, c):
        namespace(c, "shop")
        config(c, "shop", "settings", number="0")

    def go_on(self, c):
        for number in range(1, 80):
            patch(c, CORE.format("shop", "configmaps/settings"), {"data": {"number": str(number)}})


class WatchersNotRaised(Watchers):
    """The same, and the restore leaves out that revisions are raised."""

    is_raised = False


def led_by(holder):
    """The annotation in which clients of old keep who leads."""
    return {"control-plane.alpha.kubernetes.io/leader": json.dumps({"holderIdentity": holder, "leaseDurationSeconds": 15})}


class Servers(Experiment):
    """Another API server than then, another leader of the controllers, and another holder of a lock in an annotation."""

    def configure(self, c):
        c.elects = True

    def prepare(self, c):
        namespace(c, "shop")
        c.wait("the lease of the API server", lambda: c.etcd.keys("/registry/masterleases/"))
        c.wait("the leader", lambda: c.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager"))
        make(c, CORE.format("shop", "configmaps"), "v1", "ConfigMap", named("old-lock", annotations=led_by("one")))

    def go_on(self, c):
        patch(c, CORE.format("shop", "configmaps/old-lock"), {"metadata": {"annotations": led_by("two")}})
        holder = self.holder(c)
        c.stop_controllers()
        c.stop_server()
        c.address = "192.168.255.2"
        c.start_server()
        c.wait_for_server()
        c.start_controllers()
        c.wait("another leader", lambda: self.holder(c) not in (holder, ""), 60)
        self.holders = {holder, self.holder(c), ""}
        c.wait("the end of the lease", lambda: not any(key.endswith("255.1") for key in c.etcd.keys("/registry/masterleases/")), 60)

    def holder(self, c):
        lease = c.api("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager")
        return lease["spec"].get("holderIdentity") or ""

    def is_settled(self, c):
        return not any(key.endswith("255.1") for key in c.etcd.keys("/registry/masterleases/")) and self.holder(c) not in self.holders


class Callbacks(Experiment):
    """A webhook whose server is not there refuses writes."""

    def prepare(self, c):
        namespace(c, "shop")
        namespace(c, "guarded")
        make(c, CORE.format("shop", "services"), "v1", "Service", named("hook"), spec={"selector": {"app": "hook"}, "ports": [{"port": 443}]})
        webhook = {
            "name": "guard.rehearsals.example", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
            "clientConfig": {"service": {"namespace": "shop", "name": "hook"}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "guarded"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        }
        make(c, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "admissionregistration.k8s.io/v1",
             "ValidatingWebhookConfiguration", named("guard"), webhooks=[webhook])

    def go_on(self, c):
        config(c, "shop", "settings", colour="blue")

    def look(self, c, facts):
        try:
            config(c, "guarded", "settings", colour="red")
            facts.reads["guarded"] = 201
        except Refused as refused:
            facts.reads["guarded"] = refused.status


class Tokens(Experiment):
    """Accounts and tokens are made, made again and deleted."""

    def prepare(self, c):
        namespace(c, "shop")
        for name in ("steady", "again"):
            make(c, CORE.format("shop", "serviceaccounts"), "v1", "ServiceAccount", named(name))
        token(c, "revoked")
        c.wait("the token", lambda: c.api("GET", CORE.format("shop", "secrets/revoked")).get("data", {}).get("token"))

    def go_on(self, c):
        delete(c, CORE.format("shop", "secrets/revoked"))
        delete(c, CORE.format("shop", "serviceaccounts/again"))
        for name in ("again", "later"):
            make(c, CORE.format("shop", "serviceaccounts"), "v1", "ServiceAccount", named(name))
        token(c, "given")
        c.wait("the token", lambda: c.api("GET", CORE.format("shop", "secrets/given")).get("data", {}).get("token"))


def token(c, name):
    metadata = named(name, annotations={"kubernetes.io/service-account.name": "steady"})
    make(c, CORE.format("shop", "secrets"), "v1", "Secret", metadata, type="kubernetes.io/service-account-token")


EXPERIMENTS = {
    "fresh-backup": Fresh, "old-backup": Old, "deleted-namespace": DeletedNamespace, "created-namespace": CreatedNamespace,
    "moved-volume": MovedVolume, "deleted-volume": DeletedVolume, "dead-node": DeadNode, "new-node": NewNode, "rotated-keys": RotatedKeys,
    "definitions": Definitions, "upgraded-server": UpgradedServer, "three-members": ThreeMembers, "jobs": Jobs, "stateful-sets": StatefulSets, "addresses": Addresses,
    "watchers": Watchers, "watchers-not-raised": WatchersNotRaised, "api-servers": Servers, "callbacks": Callbacks, "tokens": Tokens,
}
