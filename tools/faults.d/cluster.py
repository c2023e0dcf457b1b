"""Real etcds for tools/faults: three members over mutual TLS, written to through the JSON gateway of a second, plain port."""

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CA_CONFIG = """[ca]
default_ca = own
[own]
dir = {0}
database = {0}/index.txt
new_certs_dir = {0}
serial = {0}/serial
certificate = {0}/ca.crt
private_key = {0}/ca.key
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Pki:
    """A certificate authority, and what it signs."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        for name, text in (("ca.cnf", CA_CONFIG.format(folder)), ("index.txt", ""), ("serial", "01")):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", "-x509", *key, "-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.crt", "-subj", "/CN=etcd-ca", "-days", "30")
        self.ca = f"{folder}/ca.crt"

    def issue(self, name, hosts="IP:127.0.0.1,DNS:localhost", begin="20200101000000Z", end="20491231235959Z"):
        """Returns the paths of a certificate and its key."""
        path = f"{self.folder}/{name}"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{path}.key"]
        uses = ["-addext", "extendedKeyUsage=serverAuth,clientAuth", "-addext", f"subjectAltName={hosts}"]
        openssl("req", "-new", *key, "-out", f"{path}.csr", "-subj", f"/CN={name}", *uses)
        dates = ["-startdate", begin, "-enddate", end]
        openssl("ca", "-batch", "-config", f"{self.folder}/ca.cnf", "-in", f"{path}.csr", "-out", f"{path}.crt", "-notext", *dates)
        return f"{path}.crt", f"{path}.key"


class Member:
    """One etcd."""

    def __init__(self, etcd, name, folder, pki, certificate):
        self.etcd, self.name, self.pki, self.certificate = etcd, name, pki, certificate
        self.folder = f"{folder}/{name}"
        os.makedirs(self.folder)
        self.port, self.plain, self.peer = free_port(), free_port(), free_port()
        self.flags, self.initial, self.process = [], None, None

    @property
    def endpoint(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def peer_url(self):
        return f"https://127.0.0.1:{self.peer}"

    def spawn(self):
        cert, key = self.certificate
        tls = ["--cert-file", cert, "--key-file", key, "--client-cert-auth", "--trusted-ca-file", self.pki.ca]
        cert, key = self.pki.peer
        tls += ["--peer-cert-file", cert, "--peer-key-file", key, "--peer-client-cert-auth", "--peer-trusted-ca-file", self.pki.ca]
        urls = ["--listen-client-urls", f"{self.endpoint},http://127.0.0.1:{self.plain}", "--advertise-client-urls", self.endpoint]
        urls += ["--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url]
        command = [self.etcd, "--name", self.name, "--data-dir", f"{self.folder}/data", "--initial-cluster", self.initial]
        with open(f"{self.folder}/log", "ab") as log:
            arguments = command + ["--logger", "zap"] + urls + tls + self.flags
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={})

    def send(self, number):
        self.process.send_signal(number)

    def kill(self, number=signal.SIGKILL):
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def call(self, path, body=None, timeout=20):
        """Asks the JSON gateway."""
        connection = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=timeout)
        try:
            connection.request("POST", f"/v3/{path}", json.dumps(body or {}))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise OSError(f"{path}: {answer.status} {text.decode(errors='replace')}")
            return json.loads(text)
        finally:
            connection.close()

    def wait(self):
        for _ in range(600):
            try:
                if int(self.call("maintenance/status", timeout=2).get("leader", 0)):
                    return self
            except (OSError, http.client.HTTPException, ValueError):
                if self.process.poll() is not None:
                    break
            time.sleep(0.1)
        with open(f"{self.folder}/log", encoding="utf-8") as log:
            raise SystemExit(f"etcd does not start: {log.read()[-2000:]}")

    def listens(self):
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("etcd does not start")

    def leads(self):
        status = self.call("maintenance/status")
        return status["header"]["member_id"] == status.get("leader")

    def put(self, key, value, timeout=20):
        body = {"key": encoded(key), "value": encoded(value)}
        return int(self.call("kv/put", body, timeout)["header"]["revision"])

    def revision(self):
        return int(self.call("kv/range", {"key": encoded("x"), "count_only": True})["header"]["revision"])


def encoded(text):
    return base64.b64encode(text.encode()).decode()


class Cluster:
    """Members with everything they need, in one folder that goes with them."""

    def __init__(self, etcd, count=3, certificate=None, flags=()):
        shm = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.folder = tempfile.mkdtemp(prefix="ketcd-faults.", dir=shm)
        self.pki = Pki(f"{self.folder}/pki")
        self.pki.peer, self.client = self.pki.issue("server"), self.pki.issue("client")
        given = certificate(self.pki) if certificate else self.pki.peer
        self.members = [Member(etcd, name, self.folder, self.pki, given) for name in ("one", "two", "three")[:count]]
        initial = ",".join(f"{member.name}={member.peer_url}" for member in self.members)
        for member in self.members:
            member.initial, member.flags = initial, list(flags)
            member.spawn()
        for member in self.members:
            # With a certificate of its own that is no good, its gateway does not work.
            member.listens() if certificate else member.wait()

    def end(self):
        for member in self.members:
            member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def heal(self):
        """Brings back all members, and waits until they agree."""
        for member in self.members:
            if member.process is None:
                member.spawn()
            else:
                member.send(signal.SIGCONT)
        for member in self.members:
            member.wait()
        newest = max(member.revision() for member in self.members)
        while any(member.revision() < newest for member in self.members):
            time.sleep(0.1)

    def leader(self):
        """The leader and the others."""
        for _ in range(100):
            for member in self.members:
                try:
                    if member.process and member.leads():
                        return member, [other for other in self.members if other is not member]
                except (OSError, http.client.HTTPException):
                    pass
            time.sleep(0.1)
        raise SystemExit("no member leads")

    def learner(self, etcd):
        """A fourth member that does not vote."""
        member = Member(etcd, "learner", self.folder, self.pki, self.pki.peer)
        self.members[0].call("cluster/member/add", {"peerURLs": [member.peer_url], "isLearner": True})
        member.initial = ",".join(f"{each.name}={each.peer_url}" for each in [*self.members, member])
        member.flags = ["--initial-cluster-state", "existing"]
        self.members.append(member)
        member.spawn()
        return member.wait()
