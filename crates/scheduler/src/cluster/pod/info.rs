//! A pod as the scheduler's cache holds it. Upstream: `framework.PodInfo`.

use std::sync::Arc;

use super::fields::{MetadataFields, ResourceFields, SpecFields, StatusFields};
use super::requests::ContainerAllocation;
use super::spec::PodInterner;
use crate::api::core;
use crate::cluster::namespaced_name::NamespacedName;
use crate::cluster::resource::list::resource_list;
use crate::cluster::{Interner, Labels, NodeAllocatableClaim, Pairs, PodFields, PodSpec, Text};

pub(super) const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";
pub(super) const NOMINATED_ANNOTATION: &str = "NominatedNodeName";

/// The annotations of a pod that matter to a scheduler.
pub(super) const READ_ANNOTATIONS: [&str; 2] = [MIRROR_ANNOTATION, NOMINATED_ANNOTATION];

/// Namespace and name.
pub type PodKey = NamespacedName;

/// A pod: its own fields, and the template it shares. Upstream: `framework.PodInfo`.
#[derive(Clone, Debug, Default)]
pub struct PodInfo {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: Arc<str>,
    pub(crate) labels: Labels,
    /// The part it shares with pods of the same template.
    pub spec: Arc<PodSpec>,
    /// `spec.nodeName`.
    pub node_name: Option<Arc<str>>,
    /// Upstream's NominatedNodeName: `status.nominatedNodeName` (1.9: the annotation `scheduler.kubernetes.io/nominated-node-name`).
    pub nominated_node_name: Option<Arc<str>>,
    /// Whether the phase is Succeeded or Failed: the scheduler no longer sees it.
    pub finished: bool,
    /// Whether it has a deletion timestamp.
    pub terminating: bool,
    /// Whether the scheduler itself chose it as a victim (condition DisruptionTarget, reason PreemptionByScheduler or PreemptionByKubeScheduler).
    pub(crate) preempted: bool,
    /// `metadata.creationTimestamp`, seconds since 1970.
    pub created: Option<i64>,
    /// `status.startTime`, seconds since 1970.
    pub(crate) started: Option<i64>,
    /// The condition PodScheduled, if it has one.
    pub(crate) scheduled: Option<Arc<ScheduledCondition>>,
    /// Allocated resources that differ from the requested ones.
    pub(crate) allocations: Vec<ContainerAllocation>,
    /// What its devices consume of the node (`status.nodeAllocatableResourceClaimStatuses`).
    pub(crate) node_allocatable_claims: Vec<NodeAllocatableClaim>,
    /// Whether `status.resize` says that a resize is infeasible (read by 1.27 to 1.31).
    pub(crate) resize_infeasible: bool,
    /// Whether the condition PodResizePending has the reason Infeasible (read since 1.32).
    pub(crate) resize_pending_infeasible: bool,
    /// `status.resourceClaimStatuses`.
    pub(crate) claim_statuses: Vec<ClaimStatus>,
    /// Whether it is a static pod's mirror (annotation `kubernetes.io/config.mirror`).
    pub(crate) mirror: bool,
    /// The revision of this version; 0 where it is not known.
    pub mod_revision: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledCondition {
    pub(crate) status: bool,
    /// `reason`.
    pub(crate) reason: Arc<str>,
    /// `message`.
    pub(crate) message: Arc<str>,
    /// `lastTransitionTime`, seconds since 1970.
    pub(crate) since: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimStatus {
    /// The entry in `spec.resourceClaims`.
    pub(crate) name: Arc<str>,
    /// The claim's name; `None`: none is needed.
    pub(crate) claim: Option<Arc<str>>,
}

impl PodInfo {
    /// Its labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The uid of the owner that controls it.
    pub fn controller_uid(&self) -> Option<&str> {
        self.spec.controller.as_ref().map(|owner| &*owner.uid)
    }

    /// The name of the scheduler that it waits for.
    pub fn scheduler_name(&self) -> &Arc<str> {
        &self.spec.scheduler_name
    }

    /// The names of its scheduling gates.
    pub fn scheduling_gates(&self) -> &[Arc<str>] {
        &self.spec.scheduling_gates
    }

    /// What it is scheduled together with: the name of its PodGroup, or WORKLOAD/GROUP/REPLICA as 1.35 has it.
    pub fn gang(&self) -> Option<String> {
        let of_workload = || self.spec.workload.as_ref().map(|parts| parts.join("/").trim_end_matches('/').to_owned());
        self.spec.pod_group.as_ref().map(ToString::to_string).or_else(of_workload)
    }

    /// Whether it is a static pod's mirror.
    pub fn is_mirror(&self) -> bool {
        self.mirror
    }

    /// Compiles a pod. What cannot be read is added to `problems`; the rest counts.
    pub fn compile(pod: &PodFields, mod_revision: i64, interner: &mut PodInterner, problems: &mut Vec<String>) -> Self {
        let (no_metadata, no_spec, no_status) = (MetadataFields::default(), SpecFields::default(), StatusFields::default());
        let metadata = pod.metadata.as_ref().unwrap_or(&no_metadata);
        let source = pod.spec.as_ref().unwrap_or(&no_spec);
        let status = pod.status.as_ref().unwrap_or(&no_status);
        let compiled = PodSpec::compile(metadata, source, &mut interner.texts, problems);
        let spec = interner.spec(compiled);
        let interner = &mut interner.texts;
        let mut text = |text: &Option<Text>| text.as_ref().filter(|text| !text.is_empty()).map(|text| interner.string(text));
        let annotation = |key: &str| metadata.annotations.as_ref().and_then(|annotations| annotations.get(key));
        let condition = |kind: &str| status.conditions.iter().flatten().find(|condition| condition.type_.as_deref() == Some(kind));
        let nominated = text(&status.nominated_node_name);
        let mut info = Self {
            namespace: text(&metadata.namespace).unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default().into(),
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            node_name: text(&source.node_name),
            nominated_node_name: nominated,
            finished: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            terminating: metadata.deletion_timestamp.is_some(),
            preempted: condition("DisruptionTarget").is_some_and(|condition| {
                condition.status.as_deref() == Some("True")
                    && matches!(condition.reason.as_deref(), Some("PreemptionByScheduler" | "PreemptionByKubeScheduler"))
            }),
            created: seconds(&metadata.creation_timestamp),
            started: seconds(&status.start_time),
            scheduled: condition("PodScheduled").map(|condition| {
                Arc::new(ScheduledCondition {
                    status: condition.status.as_deref() == Some("True"),
                    reason: text(&condition.reason).unwrap_or_default(),
                    message: text(&condition.message).unwrap_or_default(),
                    since: seconds(&condition.last_transition_time),
                })
            }),
            resize_infeasible: status.resize.as_deref() == Some("Infeasible"),
            resize_pending_infeasible: condition("PodResizePending")
                .is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible")),
            mirror: annotation(MIRROR_ANNOTATION).is_some(),
            mod_revision,
            spec,
            ..Self::default()
        };
        if info.nominated_node_name.is_none() && status.nominated_node_name.is_none() {
            info.nominated_node_name = annotation(NOMINATED_ANNOTATION).filter(|name| !name.is_empty()).map(|name| interner.string(name));
        }
        let claims = status.resource_claim_statuses.iter().flatten();
        info.claim_statuses = claims.map(|claim| ClaimStatus::compile(claim, interner)).collect();
        info.labels = interner.pairs(metadata.labels.as_ref());
        let takings = status.node_allocatable_resource_claim_statuses.iter().flatten();
        info.node_allocatable_claims = takings.map(|taking| NodeAllocatableClaim::compile(taking, interner, problems)).collect();
        info.allocations = allocations(status, &info.spec, info.resize_pending_infeasible, interner, problems);
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

    pub(crate) fn is_of_daemon_set(&self) -> bool {
        self.spec.controller.as_ref().is_some_and(|controller| &*controller.kind == "DaemonSet")
    }

    /// Whether deleting it makes no room: a DaemonSet's pod is recreated on its node, a static pod cannot be deleted.
    pub(crate) fn returns_or_stays(&self) -> bool {
        self.mirror || self.is_of_daemon_set()
    }

    pub(crate) fn is_on_node(&self) -> bool {
        self.node_name.is_some() && !self.finished
    }
}

impl ClaimStatus {
    fn compile(status: &core::PodResourceClaimStatus, interner: &mut Interner) -> Self {
        let claim = status.resource_claim_name.as_deref().filter(|claim| !claim.is_empty());
        Self { name: status.name.as_str().into(), claim: claim.map(|claim| interner.string(claim)) }
    }
}

/// Seconds since 1970.
pub(super) fn seconds(time: &Option<Text>) -> Option<i64> {
    time.as_ref()?.parse::<jiff::Timestamp>().ok().map(|time| time.as_second())
}

/// The resources that the kubelet reports as allocated; omitted where they equal the spec, unless the spec does not count.
fn allocations(
    status: &StatusFields,
    spec: &PodSpec,
    infeasible: bool,
    interner: &mut Interner,
    problems: &mut Vec<String>,
) -> Vec<ContainerAllocation> {
    let mut allocation = |name: &str, allocated: &Option<Pairs>, resources: &Option<ResourceFields>| {
        let mut listed = |list: &Option<Pairs>, place| resource_list(list.as_ref(), place, interner, problems);
        let allocated = listed(allocated, "status.allocatedResources");
        let actual = resources.as_ref().map(|resources| listed(&resources.requests, "status.resources.requests"));
        ContainerAllocation { container: interner.string(name), allocated, actual }
    };
    let mut found = Vec::new();
    let statuses = status.container_statuses.iter().flatten().chain(status.init_container_statuses.iter().flatten());
    for container in statuses.filter(|container| container.allocated_resources.is_some() || container.resources.is_some()) {
        let allocation = allocation(container.name.as_deref().unwrap_or_default(), &container.allocated_resources, &container.resources);
        let requests = &spec.requests;
        let own = requests.containers.iter().chain(&requests.init_containers).find(|own| own.name == allocation.container);
        let same = own.is_some_and(|own| {
            allocation.allocated == own.requests && allocation.actual.as_ref().is_none_or(|actual| *actual == own.requests)
        });
        if !same || infeasible {
            found.push(allocation);
        }
    }
    if status.allocated_resources.is_some() || status.resources.is_some() {
        found.push(allocation("", &status.allocated_resources, &status.resources));
    }
    found
}
