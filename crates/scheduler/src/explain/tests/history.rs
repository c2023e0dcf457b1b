//! A small cluster's history, written change by change, and the attempts in it explained.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cluster::{ObjectKey, RawObject};
use crate::explanation::{Caveat, Explanation};
use crate::profile::scheduler::Scheduler;
use crate::replay::{OpenAttempts, Replay, RestartedSchedulers};
use crate::{Gates, Profile, Release, VersionEvidence, VersionFrom};

/// A history: changes of objects by revision, from 1 on.
pub(super) struct History {
    changes: Vec<(String, Option<Value>)>,
    restarts: Vec<(i64, RestartedSchedulers)>,
    /// The schedulers that hold a lock, where that is known.
    locked: Option<Vec<RestartedSchedulers>>,
}

impl History {
    /// Begins with nodes of 10 CPUs and 10 GiB.
    pub(super) fn with_nodes(names: &[&str]) -> Self {
        let mut history = Self { changes: Vec::new(), restarts: Vec::new(), locked: None };
        for name in names {
            history.node(name, &[]);
        }
        history
    }

    /// Writes an object; returns the revision.
    pub(super) fn put(&mut self, path: &str, object: Value) -> i64 {
        self.changes.push((path.to_owned(), Some(object)));
        self.revision()
    }

    /// Deletes an object.
    pub(super) fn delete(&mut self, path: &str) -> i64 {
        self.changes.push((path.to_owned(), None));
        self.revision()
    }

    /// The last revision.
    pub(super) fn revision(&self) -> i64 {
        i64::try_from(self.changes.len()).unwrap()
    }

    /// Writes a node that has images.
    pub(super) fn node(&mut self, name: &str, images: &[&str]) -> i64 {
        let images: Vec<Value> = images.iter().map(|image| json!({"names": [image], "sizeBytes": 800_000_000})).collect();
        let allocatable = json!({"cpu": "10", "memory": "10Gi", "pods": "110"});
        let labels = json!({"kubernetes.io/hostname": name});
        self.put(
            &format!("minions/{name}"),
            json!({"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable, "images": images}}),
        )
    }

    /// Writes a pod as it is.
    pub(super) fn pod(&mut self, pod: &Pod) -> i64 {
        self.put(&format!("pods/a/{}", pod.name), pod.object(None, json!({"phase": "Pending"})))
    }

    /// Binds a pod.
    pub(super) fn bind(&mut self, pod: &Pod, node: &str) -> i64 {
        let condition = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        self.put(&format!("pods/a/{}", pod.name), pod.object(Some(node), json!({"phase": "Pending", "conditions": [condition]})))
    }

    /// Refuses a pod.
    pub(super) fn refuse(&mut self, pod: &Pod, message: &str) -> i64 {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        self.put(&format!("pods/a/{}", pod.name), pod.object(None, json!({"phase": "Pending", "conditions": [condition]})))
    }

    /// Writes an Event that reports the refusal of a pod's version; `count`: that of its series.
    pub(super) fn event(&mut self, pod: &Pod, version: i64, message: &str, count: Option<i64>) -> i64 {
        let of = json!({"kind": "Pod", "namespace": "a", "name": pod.name, "uid": pod.name, "resourceVersion": version.to_string()});
        let series = count.map(|count| json!({"count": count}));
        let event = json!({"kind": "Event", "metadata": {"name": pod.name, "namespace": "a"}, "involvedObject": of,
            "reason": "FailedScheduling", "message": message, "series": series});
        self.put(&format!("events/a/{}.{version}", pod.name), event)
    }

    /// Another process of the default scheduler takes over.
    pub(super) fn restart(&mut self) {
        self.restart_of(RestartedSchedulers::new(["default-scheduler".to_owned()].into(), BTreeSet::new(), false));
    }

    /// Another process of these schedulers takes over.
    pub(super) fn restart_of(&mut self, schedulers: RestartedSchedulers) {
        let revision = self.put("leases/kube-system/kube-scheduler", json!({"kind": "Lease"}));
        self.restarts.push((revision, schedulers));
    }

    /// Schedulers of these names hold locks, and no others.
    pub(super) fn lock(&mut self, names: &[&str]) {
        let certain = names.iter().map(|name| (*name).to_owned()).collect();
        self.locked = Some(vec![RestartedSchedulers::new(certain, BTreeSet::new(), false)]);
    }

    /// Writes a class whose volumes wait for their first consumer, and a claim of it.
    pub(super) fn claim(&mut self, name: &str, annotations: &Value, volume: Option<&str>) -> i64 {
        self.put(
            "storageclasses/local",
            json!({"kind": "StorageClass", "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer"}),
        );
        self.put(
            &format!("persistentvolumeclaims/a/{name}"),
            json!({"kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "a", "annotations": annotations},
                "spec": {"storageClassName": "local", "volumeName": volume, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}),
        )
    }

    /// Writes a local volume of a node, taken for a claim or free.
    pub(super) fn volume(&mut self, name: &str, node: &str, claim: Option<&str>) -> i64 {
        let term = json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]});
        let claim = claim.map(|claim| json!({"namespace": "a", "name": claim}));
        self.put(
            &format!("persistentvolumes/{name}"),
            json!({"kind": "PersistentVolume", "metadata": {"name": name}, "spec": {"storageClassName": "local", "claimRef": claim,
                "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
                "status": {"phase": "Available"}}),
        )
    }

    /// Explains every attempt; with `only`, those of other pods are skipped.
    pub(super) fn explained_by(&self, scheduler: Scheduler, only: Option<&str>) -> Vec<Explanation> {
        let mut replay = Replay::new(scheduler, true);
        self.locked.iter().for_each(|locked| replay.trace_restarts(locked.clone()));
        let mut open = OpenAttempts::default();
        let mut found = Vec::new();
        let mut each = |replay: &mut Replay, attempt: crate::Attempt| match only {
            Some(name) if *attempt.pod.name != *name => replay.skip(&attempt),
            _ => found.push(replay.explain(attempt)),
        };
        for (revision, (path, object)) in (1..).zip(&self.changes) {
            for (_, schedulers) in self.restarts.iter().filter(|(restart, _)| *restart == revision) {
                replay.restart(revision, schedulers.clone());
            }
            let object = object.as_ref().map(|object| serde_json::to_vec(object).unwrap());
            open.add(match (ObjectKey::parse(path), &object) {
                (None, Some(event)) => replay.observe_event(RawObject::Json(event), revision).into_iter().collect(),
                (key, object) => replay.advance(&key.unwrap(), object.as_deref(), revision),
            });
            while let Some(attempt) = open.next(&replay, revision) {
                each(&mut replay, attempt);
            }
        }
        while let Some(attempt) = open.next_at_end() {
            each(&mut replay, attempt);
        }
        found
    }

    /// The explanation of a pod's last attempt, by the newest release known.
    pub(super) fn explained(&self, pod: &str) -> Explanation {
        let mut all = self.explained_by(scheduler(&["default-scheduler"]), None);
        all.retain(|explanation| *explanation.attempt.pod.name == *pod);
        all.pop().unwrap()
    }
}

/// A pod of namespace a.
#[derive(Clone)]
pub(super) struct Pod {
    pub(super) name: &'static str,
    pub(super) priority: i32,
    pub(super) scheduler: &'static str,
    pub(super) claim: Option<&'static str>,
    pub(super) devices: Option<&'static str>,
    pub(super) image: &'static str,
    pub(super) group: Option<&'static str>,
}

impl Pod {
    /// A pod that requests 4 CPUs and 4 GiB.
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, priority: 0, scheduler: "default-scheduler", claim: None, devices: None, image: "i", group: None }
    }

    pub(super) fn object(&self, node: Option<&str>, status: Value) -> Value {
        let volumes: Vec<Value> =
            self.claim.iter().map(|claim| json!({"name": "v", "persistentVolumeClaim": {"claimName": claim}})).collect();
        let devices: Vec<Value> = self.devices.iter().map(|claim| json!({"name": "d", "resourceClaimName": claim})).collect();
        let group = self.group.map(|group| json!({"podGroupName": group}));
        let container = json!({"name": "c", "image": self.image, "resources": {"requests": {"cpu": "4", "memory": "4Gi"}}});
        json!({"kind": "Pod", "metadata": {"name": self.name, "namespace": "a", "uid": self.name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"schedulerName": self.scheduler, "priority": self.priority, "containers": [container], "volumes": volumes,
                "resourceClaims": devices, "schedulingGroup": group, "nodeName": node}, "status": status})
    }
}

/// A scheduler of the newest release with profiles of these names.
pub(super) fn scheduler(names: &[&str]) -> Scheduler {
    let release = Release(37);
    let profile = |name: &&str| Profile { scheduler_name: (*name).to_owned(), ..Profile::new(release, Gates::new(release)) };
    let version = VersionFrom { release, patch: None, evidence: VersionEvidence::Given };
    Scheduler { profiles: names.iter().map(profile).collect(), recorded: release, version, configured: true }
}

/// The total of a node.
pub(super) fn total(explanation: &Explanation, node: &str) -> i64 {
    let scores = explanation.judgement.scores.as_ref().unwrap();
    scores.totals[scores.nodes.iter().position(|name| **name == *node).unwrap()]
}

/// Whether a score of a node is marked as uncertain.
pub(super) fn is_marked(explanation: &Explanation, node: &str) -> bool {
    let scores = explanation.judgement.scores.as_ref().unwrap();
    let at = scores.nodes.iter().position(|name| **name == *node).unwrap();
    scores.plugins.iter().any(|score| score.doubtful.contains(&at))
}

/// The pods that an explanation counts as assumed, each with its node.
pub(super) fn assumed(explanation: &Explanation) -> Vec<(&str, &str)> {
    explanation.assumed.iter().map(|pod| (&*pod.pod, &*pod.node)).collect()
}

/// The pods whose place before or after the attempt is not known.
pub(super) fn doubted(explanation: &Explanation) -> Vec<&str> {
    let pods = explanation.caveats.iter().filter_map(|caveat| if let Caveat::Neighbours(pods) = caveat { Some(pods) } else { None });
    pods.flatten().map(|doubt| &*doubt.pod).collect()
}
