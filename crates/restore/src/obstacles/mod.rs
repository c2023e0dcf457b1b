//! Obstacles of an apply: what an API server would refuse, may refuse, or accept without effect.

mod admission;
mod needed;
mod quota;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::apply::{Merge, applied};
use crate::identity::{ObjectId, is};
use crate::immutable;
use crate::pod_template;
use crate::references::{Related, references};

pub use needed::Needed;

/// The objects that were read of the cluster that manifests are to be applied to.
pub trait TargetCluster {
    /// The object of this identity, if the cluster has it.
    fn object(&self, id: &ObjectId) -> Option<&Value>;
    /// Every object that was read.
    fn objects(&self) -> Box<dyn Iterator<Item = (&ObjectId, &Value)> + '_>;
    /// Whether objects of this `apiVersion` and kind are served.
    fn serves(&self, api_version: &str, kind: &str) -> bool;
    /// The resource of a kind, such as `deployments`; `None` where the kind is not known.
    fn plural(&self, id: &ObjectId) -> Option<String>;
}

/// What an obstacle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The API server refuses the object.
    Refused,
    /// A webhook, policy or LimitRange is asked, which may refuse it.
    MayBeRefused,
    /// The API server accepts it, but it does not have the intended effect.
    Waits,
}

/// One obstacle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ApplyObstacle {
    /// No such kind is served in this version.
    NotServed {
        /// The `apiVersion` of the manifest.
        api_version: String,
    },
    /// The namespace is not there, and not among the manifests.
    NamespaceMissing {
        /// Its name.
        namespace: String,
    },
    /// The namespace is being deleted: nothing can be made in it.
    NamespaceTerminating {
        /// Its name.
        namespace: String,
    },
    /// The API server refuses to change these fields.
    Immutable {
        /// The fields, as `spec.selector`.
        fields: Vec<String>,
    },
    /// A Pod needs it to be admitted: its ServiceAccount, PriorityClass or RuntimeClass.
    Needed {
        /// What is not there.
        needed: ObjectId,
    },
    /// Another Service has this port of all nodes.
    NodePortTaken {
        /// The port.
        port: u64,
        /// The Service that has it.
        by: ObjectId,
    },
    /// Another Service has this address.
    ClusterIpTaken {
        /// The address.
        address: String,
        /// The Service that has it.
        by: ObjectId,
    },
    /// A ResourceQuota would be exceeded.
    QuotaExceeded {
        /// The quota.
        quota: ObjectId,
        /// What it limits, such as `pods`.
        resource: String,
        /// The limit.
        hard: String,
        /// What is used of it.
        used: String,
        /// What the manifests would use besides.
        requested: String,
    },
    /// A webhook must answer, and its Service does not exist.
    WebhookUnreachable {
        /// The webhook configuration.
        configuration: ObjectId,
        /// The webhook in it.
        webhook: String,
        /// The Service.
        service: ObjectId,
    },
    /// A webhook is asked.
    Webhook {
        /// The webhook configuration.
        configuration: ObjectId,
        /// The webhook in it.
        webhook: String,
        /// Whether the object is refused where the webhook cannot be reached.
        must_answer: bool,
    },
    /// A policy is evaluated.
    Policy {
        /// The policy.
        policy: ObjectId,
    },
    /// A LimitRange is checked for Pods and claims.
    LimitRange {
        /// The LimitRange.
        limits: ObjectId,
    },
    /// The object exists and is being deleted: whatever is applied to it is deleted with it.
    Terminating,
    /// A volume is reserved for a claim that is gone.
    VolumeReserved {
        /// The uid of the claim.
        uid: String,
    },
    /// Neither the cluster nor the manifests have what its pods use.
    Missing {
        /// What is not there.
        missing: ObjectId,
    },
}

impl ApplyObstacle {
    /// What it does.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Webhook { .. } | Self::Policy { .. } | Self::LimitRange { .. } => Effect::MayBeRefused,
            Self::Terminating | Self::VolumeReserved { .. } | Self::Missing { .. } => Effect::Waits,
            _ => Effect::Refused,
        }
    }
}

impl ApplyObstacle {
    /// Returns the object that is missing, holds what is requested, or sets the limit; `None` if no other object is involved.
    pub fn other(&self) -> Option<&ObjectId> {
        match self {
            Self::Needed { needed: other }
            | Self::NodePortTaken { by: other, .. }
            | Self::ClusterIpTaken { by: other, .. }
            | Self::QuotaExceeded { quota: other, .. }
            | Self::WebhookUnreachable { configuration: other, .. }
            | Self::Webhook { configuration: other, .. }
            | Self::Policy { policy: other }
            | Self::LimitRange { limits: other }
            | Self::Missing { missing: other } => Some(other),
            Self::NotServed { .. }
            | Self::NamespaceMissing { .. }
            | Self::NamespaceTerminating { .. }
            | Self::Immutable { .. }
            | Self::Terminating
            | Self::VolumeReserved { .. } => None,
        }
    }
}

/// How kubectl patches an object of this kind: it merges lists of the kinds that client-go knows.
pub fn merge_of(group: &str) -> Merge {
    let is_builtin =
        !group.contains('.') || group.ends_with(".k8s.io") && !["apiextensions.k8s.io", "apiregistration.k8s.io"].contains(&group);
    if is_builtin { Merge::Strategic } else { Merge::Json }
}

/// Returns the obstacles of manifests, each with the objects that it is about; refusals come first.
pub fn obstacles(manifests: &[Value], cluster: &dyn TargetCluster) -> Vec<(ApplyObstacle, Vec<ObjectId>)> {
    let with: BTreeMap<ObjectId, &Value> = manifests.iter().map(|manifest| (ObjectId::of(manifest), manifest)).collect();
    let mut found: BTreeMap<ApplyObstacle, BTreeSet<ObjectId>> = BTreeMap::new();
    for (id, manifest) in &with {
        let mut problems = of_place(id, manifest, &with, cluster);
        match cluster.object(id) {
            Some(live) => problems.extend(of_live(id, live, manifest)),
            None => problems.extend(of_service(id, manifest, cluster)),
        }
        problems.extend(of_needs(id, manifest, &with, cluster));
        problems.extend(admission::of_object(id, manifest, &with, cluster));
        for problem in problems {
            found.entry(problem).or_default().insert(id.clone());
        }
    }
    for (problem, ids) in quota::exceeded(&with, cluster) {
        found.entry(problem).or_default().extend(ids);
    }
    let mut found: Vec<(ApplyObstacle, Vec<ObjectId>)> =
        found.into_iter().map(|(problem, ids)| (problem, ids.into_iter().collect())).collect();
    found.sort_by_key(|(problem, _)| problem.effect());
    found
}

/// The kind and the namespace.
fn of_place(id: &ObjectId, manifest: &Value, with: &BTreeMap<ObjectId, &Value>, cluster: &dyn TargetCluster) -> Vec<ApplyObstacle> {
    let mut problems = Vec::new();
    let api_version = manifest["apiVersion"].as_str().unwrap_or_default();
    let is_defined_with = with.values().any(|other| {
        is(other, "apiextensions.k8s.io", "CustomResourceDefinition")
            && (other["spec"]["group"] == id.group.as_str() && other["spec"]["names"]["kind"] == id.kind.as_str())
    });
    if !is_defined_with && !cluster.serves(api_version, &id.kind) {
        problems.push(ApplyObstacle::NotServed { api_version: api_version.to_owned() });
    }
    if let Some(namespace) = &id.namespace {
        let its_id = ObjectId::new("", "Namespace", None, namespace);
        match cluster.object(&its_id) {
            Some(live) if is_terminating(live) => problems.push(ApplyObstacle::NamespaceTerminating { namespace: namespace.clone() }),
            None if !with.contains_key(&its_id) => problems.push(ApplyObstacle::NamespaceMissing { namespace: namespace.clone() }),
            _ => {}
        }
    }
    problems
}

fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Changes that an existing object does not allow.
fn of_live(id: &ObjectId, live: &Value, manifest: &Value) -> Vec<ApplyObstacle> {
    let mut problems = Vec::new();
    if is_terminating(live) {
        problems.push(ApplyObstacle::Terminating);
    }
    let fields = immutable::changed(live, &applied(live, manifest, merge_of(&id.group)));
    if !fields.is_empty() {
        problems.push(ApplyObstacle::Immutable { fields });
    }
    let (held, wanted) = (&live["spec"]["claimRef"], &manifest["spec"]["claimRef"]);
    let is_same_claim = ["namespace", "name"].iter().all(|field| held[*field] == wanted[*field]);
    if id.is("", "PersistentVolume")
        && live["status"]["phase"] == "Released"
        && wanted.is_object()
        && is_same_claim
        && let Some(uid) = held["uid"].as_str()
    {
        problems.push(ApplyObstacle::VolumeReserved { uid: uid.to_owned() });
    }
    problems
}

/// Addresses and ports that another Service has.
fn of_service(id: &ObjectId, manifest: &Value, cluster: &dyn TargetCluster) -> Vec<ApplyObstacle> {
    if !id.is("", "Service") {
        return Vec::new();
    }
    let ports = |service: &Value| -> BTreeSet<u64> {
        let ports = service["spec"]["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_u64());
        ports.chain(service["spec"]["healthCheckNodePort"].as_u64()).filter(|port| *port != 0).collect()
    };
    let (wanted, address) = (ports(manifest), manifest["spec"]["clusterIP"].as_str().filter(|address| *address != "None"));
    let mut problems = Vec::new();
    for (by, other) in cluster.objects().filter(|(other, _)| other.is("", "Service") && *other != id) {
        problems.extend(wanted.intersection(&ports(other)).map(|port| ApplyObstacle::NodePortTaken { port: *port, by: by.clone() }));
        if let Some(address) = address.filter(|address| other["spec"]["clusterIP"] == **address) {
            problems.push(ApplyObstacle::ClusterIpTaken { address: address.to_owned(), by: by.clone() });
        }
    }
    problems
}

/// What pods and claims need that neither the cluster nor the manifests have.
fn of_needs(id: &ObjectId, manifest: &Value, with: &BTreeMap<ObjectId, &Value>, cluster: &dyn TargetCluster) -> Vec<ApplyObstacle> {
    let is_claim = id.is("", "PersistentVolumeClaim");
    if pod_template::pointer(manifest).is_none() && !is_claim {
        return Vec::new();
    }
    let mut needed = references(manifest, Related::Storage);
    needed.extend(references(manifest, Related::Config));
    // What a StatefulSet makes itself is not needed, and a namespace gets its default account.
    let is_made = |needed: &ObjectId| {
        (needed.is("", "PersistentVolumeClaim") && id.is("apps", "StatefulSet"))
            || (needed.is("", "ServiceAccount") && needed.name == "default")
            || needed.is("", "ConfigMap") && needed.name == "kube-root-ca.crt"
            || (needed.is("storage.k8s.io", "StorageClass") && manifest["spec"]["volumeName"].is_string())
            || (["system-cluster-critical", "system-node-critical"].contains(&needed.name.as_str()))
    };
    let is_refused_without = |needed: &ObjectId| {
        id.is("", "Pod") && (needed.is("", "ServiceAccount") || ["PriorityClass", "RuntimeClass"].contains(&needed.kind.as_str()))
    };
    let absent = needed.into_iter().filter(|needed| !is_made(needed) && !with.contains_key(needed) && cluster.object(needed).is_none());
    absent
        .map(
            |needed| {
                if is_refused_without(&needed) { ApplyObstacle::Needed { needed } } else { ApplyObstacle::Missing { missing: needed } }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests;
