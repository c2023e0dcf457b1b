"""The servers on loopback that stand for S3, GCS and Azure, each with the buckets `backups` and `lake`, and what they hold by means that are not ketcd's.

A server has a `scheme`, a `name` with its release, the `environment` that ketcd finds it by, `put(bucket, key, path)`, and `objects(prefix)`: what lies below a prefix of `lake`.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

MOTO = "5.2.5"
AZURITE = "3.37.0"
FAKE_GCS = "v1.56.1"
AZURE_STORAGE_BLOB = "12.31.1"
HOME = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../target")), "buckets")
PACKAGES = [f"moto[server,s3]=={MOTO}", "boto3==1.44.8", f"azure-storage-blob=={AZURE_STORAGE_BLOB}"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Child:
    """A server that is a program; ends with this one, or by `stop`."""

    def __init__(self, command, port):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(200):
            if self.process.poll() is not None:
                sys.exit(f"{command[0]} ended with exit code {self.process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        self.stop()
        sys.exit(f"{command[0]} does not listen on port {port} after 20 s")

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()


class Moto:
    """PyPI's moto, an S3 server. `fails` may name a part of every upload that it refuses."""

    scheme = "s3"
    name = f"moto {MOTO}"

    def __init__(self):
        import boto3
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        # It answers a part that arrives while its upload is given up with an error and a traceback.
        logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
        self.fails = None
        self.parts = 0
        self.answers = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, self.answer, threaded=True)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.s3 = boto3.client("s3", endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        self.s3.create_bucket(Bucket="backups")
        self.s3.create_bucket(Bucket="lake")

    def answer(self, environ, start_response):
        part = urllib.parse.parse_qs(environ.get("QUERY_STRING", "")).get("partNumber", [None])[0]
        self.parts += part is not None
        if part is not None and part == self.fails:
            environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            start_response("403 Forbidden", [("Content-Length", "0")])
            return [b""]
        return self.answers(environ, start_response)

    @property
    def environment(self):
        return {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_ENDPOINT": self.endpoint, "AWS_ALLOW_HTTP": "true"}

    def put(self, bucket, key, path):
        self.s3.upload_file(path, bucket, key)

    def exclude(self, bucket, key):
        """Tags a snapshot as etcd-backup-restore's users exclude one from restores."""
        tags = {"TagSet": [{"Key": "owner", "Value": "a"}, {"Key": "x-etcd-snapshot-exclude", "Value": "true"}]}
        self.s3.put_object_tagging(Bucket=bucket, Key=key, Tagging=tags)

    def objects(self, prefix):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket="lake", Prefix=f"{prefix}/")
        names = [found["Key"] for page in pages for found in page.get("Contents", [])]
        return {name[len(prefix) + 1 :]: self.s3.get_object(Bucket="lake", Key=name)["Body"].read() for name in names}

    def unfinished(self):
        """The uploads in parts that neither ended nor were given up."""
        return [upload["Key"] for upload in self.s3.list_multipart_uploads(Bucket="lake").get("Uploads", [])]

    def stop(self):
        # What it holds is the process' own, so the next moto would have it.
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/moto-api/reset", method="POST")).close()
        self.server.shutdown()


class MotoAsGcs(Moto):
    """moto, asked as GCS is: GCS' XML API is S3's but for who asks, which GCS is told by a token and moto by a signature, of which it reads the account alone."""

    scheme = "gs"
    name = f"moto {MOTO}, as GCS' XML API"

    def answer(self, environ, start_response):
        if not environ.get("HTTP_AUTHORIZATION", "").startswith("AWS4-"):
            environ["HTTP_AUTHORIZATION"] = "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        return super().answer(environ, start_response)

    @property
    def environment(self):
        return gcs_environment(self.endpoint)


def gcs_environment(endpoint):
    account = {"gcs_base_url": endpoint, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}


class FakeGcs:
    """fake-gcs-server, from Go's modules. Its XML API reads and lists, and takes no uploads."""

    scheme = "gs"
    name = f"fake-gcs-server {FAKE_GCS}"

    def __init__(self):
        # The release is in the folder's name, so that another one is built.
        binary = f"{HOME}/fake-gcs-{FAKE_GCS}/fake-gcs-server"
        if not os.path.exists(binary):
            subprocess.run(["go", "install", f"github.com/fsouza/fake-gcs-server@{FAKE_GCS}"], env={**os.environ, "GOBIN": os.path.dirname(binary)}, check=True)
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self.child = Child([binary, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}"], port)
        for bucket in ("backups", "lake"):
            self.ask("/storage/v1/b", json.dumps({"name": bucket}).encode(), "application/json")

    def ask(self, path, body=None, kind="application/octet-stream"):
        with urllib.request.urlopen(urllib.request.Request(self.endpoint + path, body, {"Content-Type": kind})) as answer:
            return answer.read()

    @property
    def environment(self):
        return gcs_environment(self.endpoint)

    def put(self, bucket, key, path):
        with open(path, "rb") as file:
            self.ask(f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={urllib.parse.quote(key, safe='')}", file.read())

    def stop(self):
        self.child.stop()


class Azurite:
    """Azurite, npm's package, an Azure Blob server."""

    scheme = "az"
    name = f"Azurite {AZURITE}"
    # The account that every Azurite has, as its documentation gives it.
    ACCOUNT = "devstoreaccount1"
    KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def __init__(self):
        from azure.storage.blob import BlobServiceClient

        folder = f"{HOME}/azurite-{AZURITE}"
        program = f"{folder}/node_modules/.bin/azurite-blob"
        if not os.path.exists(program):
            os.makedirs(folder, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, f"azurite@{AZURITE}"], check=True)
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self.child = Child([program, "--inMemoryPersistence", "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port)], port)
        credential = {"account_name": self.ACCOUNT, "account_key": self.KEY}
        # A version of the protocol that this Azurite knows.
        self.service = BlobServiceClient(f"{self.endpoint}/{self.ACCOUNT}", credential=credential, api_version="2025-05-05")
        self.service.create_container("backups")
        self.service.create_container("lake")

    @property
    def environment(self):
        return {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": self.endpoint}

    def put(self, bucket, key, path):
        with open(path, "rb") as file:
            self.service.get_blob_client(bucket, key).upload_blob(file)

    def exclude(self, bucket, key):
        """Tags a blob as one that is not to be restored from."""
        self.service.get_blob_client(bucket, key).set_blob_tags({"x-etcd-snapshot-exclude": "true"})

    def objects(self, prefix):
        container = self.service.get_container_client("lake")
        names = [blob.name for blob in container.list_blobs(name_starts_with=f"{prefix}/")]
        return {name[len(prefix) + 1 :]: container.download_blob(name).readall() for name in names}

    def blocks(self, key):
        """How many blocks a blob was put in; none where it was put at once."""
        return len(self.service.get_blob_client("lake", key).get_block_list("committed")[0])

    def stop(self):
        self.child.stop()


SERVERS = {"s3": [Moto], "gcs": [FakeGcs, MotoAsGcs], "azure": [Azurite]}
