"""An imitated storage system: disks, the nodes that they are attached to, and the programs of a CSI driver that speak for it.

What disks there are and where each is attached is what this keeps, not what the API says: a restore does not change it.
"""

import http.client
import threading
import time

from api import MERGE, Refused

TROUBLE = (OSError, http.client.HTTPException, Refused)
DRIVER = "disks.rehearsals.example"


class Storage:
    """The disks of a cluster."""

    def __init__(self, api):
        self.api, self.disks, self.attached, self.is_over = api, set(), {}, False
        threading.Thread(target=self.follow, daemon=True).start()

    def volume(self, name, namespace, claim, policy="Retain"):
        """Makes a disk, its PersistentVolume, and the claim that is bound to it."""
        self.disks.add(f"disk-{name}")
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": policy,
                "storageClassName": "", "csi": {"driver": DRIVER, "volumeHandle": f"disk-{name}"},
                "claimRef": {"namespace": namespace, "name": claim}}
        self.api("POST", "/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}, "volumeName": name}
        path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        if self.api.get(f"{path}/{claim}") is None:
            self.api("POST", path, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim}, "spec": spec})

    def follow(self):
        while not self.is_over:
            time.sleep(0.5)
            try:
                self.attach()
                self.reclaim()
            except TROUBLE:
                continue

    def attach(self):
        """What the attacher does: a disk is attached to one node; an attachment that says it is attached is taken for done, and only one that is
        deleted is undone (kubernetes-csi/external-attacher v4, pkg/controller/csi_handler.go)."""
        for item in self.api("GET", "/apis/storage.k8s.io/v1/volumeattachments")["items"]:
            disk, node = f"disk-{item['spec']['source']['persistentVolumeName']}", item["spec"]["nodeName"]
            path = f"/apis/storage.k8s.io/v1/volumeattachments/{item['metadata']['name']}"
            if item["metadata"].get("deletionTimestamp"):
                if self.attached.get(disk) == node:
                    del self.attached[disk]
                self.api("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
            elif not item.get("status", {}).get("attached") and disk in self.disks and self.attached.get(disk, node) == node:
                self.attached[disk] = node
                self.api("PATCH", path, {"metadata": {"finalizers": [f"external-attacher/{DRIVER.replace('.', '-')}"]}}, MERGE)
                self.api("PATCH", path + "/status", {"status": {"attached": True}}, MERGE)

    def serves(self, pod, node):
        """Whether the disks of a pod's claims are attached to its node."""
        for volume in pod["spec"].get("volumes", []):
            if "persistentVolumeClaim" not in volume:
                continue
            claim = f"/api/v1/namespaces/{pod['metadata']['namespace']}/persistentvolumeclaims/{volume['persistentVolumeClaim']['claimName']}"
            found = self.api.get(claim) or {"spec": {}}
            disk = f"disk-{found['spec'].get('volumeName')}"
            if disk not in self.disks or self.attached.get(disk) != node:
                return False
        return True

    def reclaim(self):
        """What the provisioner does: deletes the disk of a released volume whose policy says so, then its object."""
        for volume in self.api("GET", "/api/v1/persistentvolumes")["items"]:
            if volume.get("status", {}).get("phase") == "Released" and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
                self.disks.discard(volume["spec"]["csi"]["volumeHandle"])
                self.api("DELETE", f"/api/v1/persistentvolumes/{volume['metadata']['name']}")

    def report(self):
        return {"disks": sorted(self.disks), "attached": dict(sorted(self.attached.items()))}

    def stop(self):
        self.is_over = True
