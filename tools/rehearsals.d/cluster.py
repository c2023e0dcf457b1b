"""A small control plane on loopback: etcd with one member or more, an API server, the controllers, and what imitates nodes and storage."""

import base64
import http.client
import json
import os
import secrets
import shutil
import signal
import subprocess
import threading
import time

from api import Api, Etcd, Refused, coded
from kubelets import Kubelets
from storage import Storage

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ADDRESS = "192.168.255.1"

# Controllers that would need a certificate authority, or that write what no experiment looks at.
WITHOUT = ["root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller", "bootstrap-signer-controller",
           "volumeattributesclass-protection-controller"]


def tool(*words):
    return subprocess.run([f"{HERE}/{words[0]}", *words[1:]], check=True, capture_output=True, text=True).stdout.strip()


class Cluster:
    """The programs, their ports and files. Everything ends with `stop`."""

    def __init__(self, work, port, members=1):
        self.work, self.port = work, port
        self.names = [f"m{number}" for number in range(1, members + 1)]
        self.programs, self.etcd_program, self.etcdutl = tool("control-plane"), tool("program", "etcd-3.7"), tool("program", "etcdutl")
        self.kubectl_program = tool("program", "kubectl")
        self.members, self.server, self.controllers = {}, None, None
        self.address, self.keys, self.elects = ADDRESS, None, False
        # The older release that API server and controllers emulate, and the versions that are served besides those on by default.
        self.release, self.served = None, []
        self.etcd = Etcd(self.port_of("m1"))
        self.api = Api(port + 20)
        self.recorder = None
        os.makedirs(work, exist_ok=True)
        self.write("tokens.csv", "rehearsals,admin,admin,system:masters\n")
        subprocess.run(["openssl", "genrsa", "-out", f"{work}/sa.key", "2048"], check=True, capture_output=True)
        self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": f"https://127.0.0.1:{port + 20}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "admin", "user": {"token": "rehearsals"}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "admin"}}]}))
        self.storage = Storage(Api(port + 20, agent="csi"))
        self.kubelets = Kubelets(Api(port + 20, agent="kubelet"), self.storage)

    def write(self, name, text):
        with open(f"{self.work}/{name}", "w") as file:
            file.write(text)

    def launch(self, name, *command):
        log = open(f"{self.work}/{name}.log", "a")
        return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def port_of(self, member):
        return self.port + 2 * int(member[1:])

    def peer(self, member):
        return f"http://127.0.0.1:{self.port_of(member) + 1}"

    def data(self, member):
        return f"{self.work}/{member}.data"

    def start_member(self, member):
        client = f"http://127.0.0.1:{self.port_of(member)}"
        peers = ",".join(f"{name}={self.peer(name)}" for name in self.names)
        self.members[member] = self.launch(
            member, self.etcd_program, "--name", member, "--data-dir", self.data(member), "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", self.peer(member), "--initial-advertise-peer-urls", self.peer(member), "--initial-cluster", peers, "--log-level", "warn")

    def start_etcd(self):
        for member in self.names:
            self.start_member(member)
        self.wait("etcd", self.etcd.is_ready)

    def start_server(self):
        words = [
            f"{self.programs}/kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{self.port_of('m1')}", "--secure-port", str(self.port + 20),
            "--bind-address", "127.0.0.1", "--advertise-address", self.address, "--cert-dir", f"{self.work}/certs",
            "--token-auth-file", f"{self.work}/tokens.csv", "--authorization-mode", "AlwaysAllow", "--anonymous-auth=false",
            "--runtime-config", ",".join(["rbac.authorization.k8s.io/v1=false", *self.served]), "--etcd-compaction-interval", "0",
            "--service-account-key-file", f"{self.work}/sa.key", "--service-account-signing-key-file", f"{self.work}/sa.key",
            "--service-account-issuer", "https://kubernetes.default.svc", "--service-cluster-ip-range", "10.96.0.0/16",
            "--default-not-ready-toleration-seconds", "4", "--default-unreachable-toleration-seconds", "4",
        ]
        if self.keys:
            self.write("encryption.json", json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [
                {"resources": ["secrets"], "providers": [{"aescbc": {"keys": [{"name": name, "secret": self.keys[name]} for name in self.keys]}}]}]}))
            words += ["--encryption-provider-config", f"{self.work}/encryption.json"]
        self.server = self.launch("apiserver", *words, *self.emulation())

    def emulation(self):
        """The flags by which a program of 1.36 behaves, and stores, as one of an older release."""
        return ["--emulated-version", self.release, "--min-compatibility-version", self.release] if self.release else []

    def wait_for_server(self):
        self.wait("the API server", self.api.is_ready)
        # The API server's own loops have made these once it serves.
        self.wait("the namespaces", lambda: self.api.get("/api/v1/namespaces/kube-node-lease") and self.api.get("/api/v1/namespaces/kube-system"))

    def start_controllers(self):
        self.controllers = self.launch(
            "controllers", f"{self.programs}/kube-controller-manager", "--kubeconfig", f"{self.work}/kubeconfig", f"--leader-elect={str(self.elects).lower()}",
            "--secure-port", "0", "--service-account-private-key-file", f"{self.work}/sa.key", "--node-monitor-period", "2s",
            "--node-monitor-grace-period", "16s", "--controllers", ",".join(["*", *(f"-{name}" for name in WITHOUT)]), *self.emulation())
        self.kubelets.is_bound = True

    def start(self):
        self.start_etcd()
        self.start_server()
        self.wait_for_server()
        self.start_controllers()
        self.wait("the account default", lambda: self.api.get("/api/v1/namespaces/default/serviceaccounts/default"))

    def end(self, process):
        if process and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def stop_controllers(self):
        self.kubelets.is_bound = False
        self.end(self.controllers)

    def stop_server(self):
        # As when the machine is lost: no lease of it is given back.
        if self.server and self.server.poll() is None:
            self.server.kill()
            self.server.wait()

    def stop_etcd(self):
        for process in self.members.values():
            self.end(process)

    def stop(self):
        self.kubelets.stop()
        self.storage.stop()
        if self.recorder:
            self.recorder.stop()
        self.stop_controllers()
        self.stop_server()
        self.stop_etcd()

    def wait(self, what, done, seconds=150):
        until = time.time() + seconds
        while True:
            try:
                if done():
                    return
            except (OSError, http.client.HTTPException, Refused):
                pass
            if time.time() > until:
                raise TimeoutError(f"{what} did not come within {seconds} s")
            time.sleep(0.4)

    def kubectl(self, *words):
        command = [self.kubectl_program, "--kubeconfig", f"{self.work}/kubeconfig", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def objects(self):
        """Every object that kubectl gets, by kind, namespace and name."""
        names = [name for name in self.kubectl("api-resources", "--verbs=list", "-o", "name").split() if name not in ("events.events.k8s.io",)]
        # One resource that cannot be read, such as one that is sealed under a key that is missing, leaves the others.
        words = ["get", ",".join(names), "-A", "-o", "json"]
        printed = subprocess.run([self.kubectl_program, "--kubeconfig", f"{self.work}/kubeconfig", *words], capture_output=True, text=True).stdout
        place = lambda item: (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        return {place(item): item for item in json.loads(printed)["items"]}

    def record(self):
        """Notes every write from now on, with its time."""
        if self.recorder:
            self.recorder.stop()
        self.recorder = Recorder(self.port_of("m1"), self.etcd.revision())

    def restore(self, command, member):
        """Runs a restore as it was printed, but for the tool's place and the member's data dir."""
        words = [word for word in command if word]
        assert words[0] == "etcdutl", command
        place = words.index("--data-dir") + 1
        words[0], words[place] = self.etcdutl, self.data(member)
        shutil.rmtree(self.data(member), ignore_errors=True)
        subprocess.run(words, check=True, capture_output=True)


class Recorder:
    """What is written to an etcd, as its watch tells it."""

    def __init__(self, port, revision):
        self.events, self.is_over, self.begin = [], False, revision + 1
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)
        request = {"create_request": {"key": coded("/registry/"), "range_end": coded("/registry0"), "start_revision": str(revision + 1)}}
        connection.request("POST", "/v3/watch", json.dumps(request), {"Content-Type": "application/json"})
        self.connection, self.answer = connection, connection.getresponse()
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            for line in self.answer:
                for event in json.loads(line).get("result", {}).get("events", []):
                    entry = event["kv"]
                    self.events.append({"time": time.time(), "key": base64.b64decode(entry["key"]).decode(),
                                        "is_deletion": event.get("type") == "DELETE", "revision": int(entry["mod_revision"])})
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass

    def stop(self):
        try:
            self.connection.sock.shutdown(2)
        except (OSError, AttributeError):
            pass

    def last(self):
        """When something was written last, signs of life left out."""
        quiet = ("/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/", "/registry/events/", "/registry/minions/")
        times = [event["time"] for event in self.events if not event["key"].startswith(quiet)]
        return times[-1] if times else 0


def key_of_32_bytes():
    return base64.b64encode(secrets.token_bytes(32)).decode()
