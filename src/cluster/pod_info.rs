//! A pod as the scheduler's cache holds it.

use std::sync::Arc;

use crate::kube::api::core::v1 as core;

use super::pod_spec::resource_list;
use super::requests::Allocation;
use super::{Interner, Labels, PodSpec};

/// Namespace and name.
pub type PodKey = (Arc<str>, Arc<str>);

/// A pod: what is its own, beside the template it shares.
#[derive(Clone, Debug, Default)]
pub struct PodInfo {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: Arc<str>,
    /// Its labels.
    pub labels: Labels,
    /// What it shares with its siblings.
    pub spec: Arc<PodSpec>,
    /// `spec.nodeName`.
    pub node_name: Option<Arc<str>>,
    /// `status.nominatedNodeName` (1.9: the annotation `scheduler.kubernetes.io/nominated-node-name`).
    pub nominated_node_name: Option<Arc<str>>,
    /// Whether the phase is Succeeded or Failed: the scheduler no longer sees it.
    pub finished: bool,
    /// Whether it has a deletion timestamp.
    pub terminating: bool,
    /// Whether the scheduler itself chose it as a victim (condition DisruptionTarget, reason PreemptionByScheduler or PreemptionByKubeScheduler).
    pub preempted: bool,
    /// `metadata.creationTimestamp`, seconds since 1970.
    pub created: Option<i64>,
    /// `status.startTime`, seconds since 1970.
    pub started: Option<i64>,
    /// The condition PodScheduled, if it is written.
    pub scheduled: Option<Arc<ScheduledCondition>>,
    /// What was allocated where that differs from what is requested.
    pub allocations: Vec<Allocation>,
    /// Whether a resize was found infeasible.
    pub resize_infeasible: bool,
    /// `status.resourceClaimStatuses`.
    pub claim_statuses: Vec<ClaimStatus>,
    /// Whether it is a static pod's mirror (annotation `kubernetes.io/config.mirror`).
    pub mirror: bool,
    /// The revision of this version; 0 where it is not known.
    pub mod_revision: i64,
}

/// The condition PodScheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledCondition {
    /// Whether its status is True.
    pub status: bool,
    /// `reason`.
    pub reason: Arc<str>,
    /// `message`.
    pub message: Arc<str>,
    /// `lastTransitionTime`, seconds since 1970.
    pub since: Option<i64>,
}

/// The claim made for one of the pod's templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimStatus {
    /// The entry in `spec.resourceClaims`.
    pub name: Arc<str>,
    /// The claim's name; `None`: none is needed.
    pub claim: Option<Arc<str>>,
}

impl PodInfo {
    /// Compiles a pod. What cannot be read is named in `problems`; the rest counts.
    pub fn compile(pod: &core::Pod, mod_revision: i64, interner: &mut Interner, problems: &mut Vec<String>) -> Self {
        let metadata = &pod.metadata;
        let empty = core::PodSpec::default();
        let source = pod.spec.as_ref().unwrap_or(&empty);
        let compiled = PodSpec::compile(metadata, source, interner, problems);
        let spec = interner.spec(compiled);
        let status = pod.status.clone().unwrap_or_default();
        let mut text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(|text| interner.string(text));
        let annotation = |key: &str| metadata.annotations.as_ref().and_then(|annotations| annotations.get(key)).map(String::as_str);
        let condition = |kind: &str| status.conditions.iter().flatten().find(|condition| condition.type_ == kind);
        let nominated = status.nominated_node_name.as_deref().or_else(|| annotation("NominatedNodeName"));
        let mut info = Self {
            namespace: text(metadata.namespace.as_deref()).unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default().into(),
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            node_name: text(source.node_name.as_deref()),
            nominated_node_name: text(nominated),
            finished: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            terminating: metadata.deletion_timestamp.is_some(),
            preempted: condition("DisruptionTarget").is_some_and(|condition| {
                condition.status == "True"
                    && matches!(condition.reason.as_deref(), Some("PreemptionByScheduler" | "PreemptionByKubeScheduler"))
            }),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0.as_second()),
            started: status.start_time.as_ref().map(|time| time.0.as_second()),
            scheduled: condition("PodScheduled").map(|condition| {
                Arc::new(ScheduledCondition {
                    status: condition.status == "True",
                    reason: text(condition.reason.as_deref()).unwrap_or_default(),
                    message: text(condition.message.as_deref()).unwrap_or_default(),
                    since: condition.last_transition_time.as_ref().map(|time| time.0.as_second()),
                })
            }),
            resize_infeasible: status.resize.as_deref() == Some("Infeasible")
                || condition("PodResizePending").is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible")),
            claim_statuses: status
                .resource_claim_statuses
                .iter()
                .flatten()
                .map(|claim| ClaimStatus { name: claim.name.as_str().into(), claim: text(claim.resource_claim_name.as_deref()) })
                .collect(),
            mirror: annotation("kubernetes.io/config.mirror").is_some(),
            mod_revision,
            ..Self::default()
        };
        info.labels = interner.labels(metadata.labels.as_ref());
        info.spec = spec;
        info.allocations = allocations(&status, &info.spec, interner, problems);
        info
    }

    /// Namespace and name.
    pub fn key(&self) -> PodKey {
        (self.namespace.clone(), self.name.clone())
    }

    /// `namespace/name`, as people write it.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether the scheduler counts it on the node it names.
    pub fn is_on_node(&self) -> bool {
        self.node_name.is_some() && !self.finished
    }
}

/// What the kubelet reports as allocated; left out where it says the same as the spec.
fn allocations(status: &core::PodStatus, spec: &PodSpec, interner: &mut Interner, problems: &mut Vec<String>) -> Vec<Allocation> {
    let mut found = Vec::new();
    let statuses = status.container_statuses.iter().flatten().chain(status.init_container_statuses.iter().flatten());
    for container in statuses {
        if container.allocated_resources.is_none() && container.resources.is_none() {
            continue;
        }
        let name = interner.string(&container.name);
        let allocation = Allocation {
            allocated: resource_list(container.allocated_resources.as_ref(), "status.allocatedResources", interner, problems),
            actual: container
                .resources
                .as_ref()
                .map(|resources| resource_list(resources.requests.as_ref(), "status.resources.requests", interner, problems)),
            container: name,
        };
        let requests = &spec.requests;
        let own = requests.containers.iter().chain(&requests.init_containers).find(|own| own.name == allocation.container);
        let same = own.is_some_and(|own| {
            allocation.allocated == own.requests && allocation.actual.as_ref().is_none_or(|actual| *actual == own.requests)
        });
        if !same {
            found.push(allocation);
        }
    }
    if status.allocated_resources.is_some() || status.resources.is_some() {
        found.push(Allocation {
            container: Arc::default(),
            allocated: resource_list(status.allocated_resources.as_ref(), "status.allocatedResources", interner, problems),
            actual: status
                .resources
                .as_ref()
                .map(|resources| resource_list(resources.requests.as_ref(), "status.resources.requests", interner, problems)),
        });
    }
    found
}
