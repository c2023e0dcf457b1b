//! What is wrong with a cluster at one moment, in order of weight, effects below their causes.
//!
//! A cause is claimed only where the data show it: a pod names its node, its claims and its controller, a controller quotes the quota or the
//! webhook that refuses its pods, a namespace the API that does not answer.

mod cases;
mod chains;
mod finding;
mod identity;
pub mod since_last;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::device::{driver_awaited, reserved_for};
use super::{BrokenHook, LeaseFacts, Trouble, TroubleKind, troubles_of};
use crate::Leases;
use crate::timeline::Subject;
use cases::{Named, PodCase, WorkloadCase, controller_of};

pub use finding::{Finding, by_weight};
pub use identity::TroubleKey;

/// Gathers what is there at one moment.
#[derive(Default)]
pub struct Triage {
    now: Option<Timestamp>,
    counts: Counts,
    pods_on: BTreeMap<String, usize>,
    pods: Vec<PodCase>,
    nodes: BTreeMap<String, Vec<Trouble>>,
    node_leases: BTreeMap<String, LeaseFacts>,
    components: Vec<(Subject, LeaseFacts)>,
    /// The Deployments behind ReplicaSets.
    owners: BTreeMap<Named, Subject>,
    workloads: BTreeMap<Named, WorkloadCase>,
    claims: Vec<(Subject, Trouble)>,
    /// The claims of devices that pods are to be bound for, by the pods' namespaces and names: each claim, and the driver that is waited for.
    devices: BTreeMap<(String, String), [String; 2]>,
    /// Storage classes that provide nothing before a pod needs it.
    patient_classes: BTreeSet<String>,
    hooks: Vec<(Subject, BrokenHook)>,
    others: Vec<(Subject, Trouble)>,
}

/// How many objects were examined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes.
    pub nodes: usize,
    /// Pods that have not ended.
    pub pods: usize,
    /// Deployments, StatefulSets, DaemonSets and jobs.
    pub workloads: usize,
}

impl Triage {
    /// Begins without objects; `now` is the moment of the state, if anything shows it.
    pub fn new(now: Option<Timestamp>) -> Self {
        Self { now, ..Self::default() }
    }

    /// Returns how many objects were examined.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts a healthy pod.
    pub fn count_pod(&mut self, node: Option<&str>) {
        self.counts.pods += 1;
        if let Some(node) = node {
            match self.pods_on.get_mut(node) {
                Some(count) => *count += 1,
                None => drop(self.pods_on.insert(node.to_owned(), 1)),
            }
        }
    }

    /// Adds an object, as it is at the moment.
    pub fn observe(&mut self, object: &Value) {
        let subject = Subject::of(object);
        match subject.kind.as_str() {
            "Pod" => self.observe_pod(subject, object),
            "Node" => {
                self.counts.nodes += 1;
                self.nodes.insert(subject.name, troubles_of(object));
            }
            "Lease" => self.observe_lease(subject, object),
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
                self.observe_workload(subject, object);
            }
            "StorageClass" => {
                if object["volumeBindingMode"] == "WaitForFirstConsumer" {
                    self.patient_classes.insert(subject.name);
                }
            }
            "ResourceClaim" => {
                if let Some(driver) = driver_awaited(object) {
                    let of_pod = |pod| ((subject.namespace.clone(), pod), [subject.name.clone(), driver.clone()]);
                    self.devices.extend(reserved_for(object).map(of_pod));
                }
            }
            "PersistentVolumeClaim" => {
                if let Some(trouble) = troubles_of(object).into_iter().next() {
                    match trouble.kind {
                        TroubleKind::ClaimPending | TroubleKind::ClaimLost => self.claims.push((subject, trouble)),
                        _ => self.others.push((subject, trouble)),
                    }
                }
            }
            _ => self.others.extend(self.first_due(object).map(|trouble| (subject, trouble))),
        }
    }

    /// The storage classes that make no volume before a pod needs it.
    pub fn patient_classes(&self) -> &BTreeSet<String> {
        &self.patient_classes
    }

    /// Adds the webhooks of a configuration behind which nothing answers.
    pub fn observe_hooks(&mut self, configuration: &Value, broken: Vec<BrokenHook>) {
        self.hooks.extend(broken.into_iter().map(|hook| (Subject::of(configuration), hook)));
    }

    /// Adds troubles that no object says of itself: those of etcd.
    pub fn add(&mut self, troubles: impl IntoIterator<Item = (Subject, Trouble)>) {
        self.others.extend(troubles);
    }

    /// Returns namespaces and names of the ReplicaSets whose owners are not observed yet: they tie pods to Deployments.
    pub fn missing_owners(&self) -> BTreeSet<(String, String)> {
        let controllers = self.pods.iter().filter_map(|pod| pod.controller.as_ref());
        let sets = controllers.filter(|owner| owner.0 == "ReplicaSet" && !self.owners.contains_key(*owner));
        sets.map(|(_, namespace, name)| (namespace.clone(), name.clone())).collect()
    }

    /// Returns the nodes that pods are bound to and that were not observed; none where no node was.
    pub fn absent_nodes(&self) -> Vec<String> {
        let is_absent = |node: &&String| !self.nodes.is_empty() && !self.nodes.contains_key(*node);
        self.pods_on.keys().filter(is_absent).cloned().collect()
    }

    /// What is wrong with an object and has lasted long enough.
    fn first_due(&self, object: &Value) -> Option<Trouble> {
        troubles_of(object).into_iter().find(|trouble| trouble.is_due(self.now))
    }

    fn observe_pod(&mut self, subject: Subject, pod: &Value) {
        let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if !is_over {
            self.count_pod(pod["spec"]["nodeName"].as_str());
        }
        let mut troubles = troubles_of(pod);
        if troubles.is_empty() {
            return;
        }
        let due = troubles.iter().position(|trouble| trouble.is_due(self.now));
        let trouble = troubles.swap_remove(due.unwrap_or(0));
        self.pods.push(PodCase::new(subject, pod, trouble, due.is_some()));
    }

    fn observe_lease(&mut self, subject: Subject, lease: &Value) {
        let Some(facts) = LeaseFacts::of(lease) else { return };
        match subject.namespace.as_str() {
            "kube-node-lease" => drop(self.node_leases.insert(subject.name, facts)),
            namespace if Leases::tells_who_lives(namespace, &subject.name) => self.components.push((subject, facts)),
            _ => {}
        }
    }

    fn observe_workload(&mut self, subject: Subject, object: &Value) {
        let key = (subject.kind.clone(), subject.namespace.clone(), subject.name.clone());
        if subject.kind == "ReplicaSet" {
            let owner = controller_of(object);
            let is_owned = owner.is_some();
            let named = |(kind, namespace, name)| Subject { kind, namespace, name, uid: String::new() };
            self.owners.insert(key.clone(), owner.map_or_else(|| subject.clone(), named));
            if is_owned {
                return;
            }
        }
        self.counts.workloads += 1;
        let troubles = troubles_of(object);
        if !troubles.is_empty() {
            self.workloads.insert(key, WorkloadCase { subject, troubles, is_used: false });
        }
    }

    /// Returns all that is wrong, the weightiest first.
    pub fn findings(self) -> Vec<Finding> {
        chains::findings(self)
    }
}
