//! The parts of pod groups that schedulers read, in every stored version.
//! Sources: `api/scheduling/v1alpha1/types.go` (Workload, 1.35), `v1alpha2` (PodGroup, 1.36), `v1alpha3` and `v1beta1` (PodGroup,
//! CompositePodGroup, 1.37).

use serde::Deserialize;

use crate::cluster::raw_object::{FromRaw, RawObject};

/// How the pods of a group, or the groups of a composite group, are scheduled.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GroupPolicy {
    /// All at once, or not at all.
    pub(crate) gang: Option<Gang>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Gang {
    /// How many pods must be schedulable together; for a composite group, how many child groups.
    #[serde(alias = "minGroupCount")]
    pub(crate) min_count: usize,
}

/// A PodGroup (1.36, 1.37), or a CompositePodGroup (1.37).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodGroup {
    pub(crate) metadata: GroupMetadata,
    pub(crate) spec: PodGroupSpec,
    pub(crate) status: PodGroupStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GroupMetadata {
    pub(crate) uid: String,
    /// When it was created, in RFC 3339 with seconds: such texts sort by time.
    pub(crate) creation_timestamp: Option<String>,
}

/// A claim that pods of a group share (DRAWorkloadResourceClaims).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GroupClaim {
    pub(crate) name: String,
    /// The claim; `None`: it is created from a template.
    pub(crate) resource_claim_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodGroupStatus {
    pub(crate) resource_claim_statuses: Vec<GroupClaim>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodGroupSpec {
    pub(crate) scheduling_policy: GroupPolicy,
    pub(crate) scheduling_constraints: Option<GroupConstraints>,
    /// Whether its pods are evicted together.
    pub(crate) disruption_mode: Option<DisruptionMode>,
    /// Its priority; 0 where absent.
    pub(crate) priority: Option<i32>,
    /// `PreemptLowerPriority` or `Never` (1.37).
    pub(crate) preemption_policy: Option<String>,
    /// The composite group it belongs to (1.37).
    pub(crate) parent_composite_pod_group_name: Option<String>,
    pub(crate) resource_claims: Vec<GroupClaim>,
}

impl PodGroupSpec {
    /// The label that makes placements: all pods of the group go to nodes with one value of it. Upstream reads the first constraint only.
    pub(crate) fn topology_key(&self) -> Option<&str> {
        self.scheduling_constraints.as_ref()?.topology.first().map(|constraint| constraint.key.as_str())
    }

    /// Whether evicting one of its pods means evicting all.
    pub(crate) fn is_disrupted_as_one(&self) -> bool {
        match &self.disruption_mode {
            Some(DisruptionMode::Named(name)) => name == "PodGroup",
            Some(DisruptionMode::Chosen { all }) => all.is_some(),
            None => false,
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GroupConstraints {
    /// Labels whose value must be the same on all nodes of the group.
    pub(crate) topology: Vec<GroupTopology>,
}

/// A label whose value must be the same on all nodes of a group.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GroupTopology {
    pub(crate) key: String,
}

/// Whether pods of a group are evicted one by one or together.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum DisruptionMode {
    /// `Pod` or `PodGroup` (1.36).
    Named(String),
    /// `single` or `all` (1.37).
    Chosen {
        /// All at once.
        all: Option<serde_json::Map<String, serde_json::Value>>,
    },
}

/// A workload of 1.35, with the groups in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Workload {
    pub(crate) spec: WorkloadSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadSpec {
    pub(crate) pod_groups: Vec<WorkloadGroup>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WorkloadGroup {
    pub(crate) name: String,
    pub(crate) policy: GroupPolicy,
}

impl FromRaw for PodGroup {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}

impl FromRaw for Workload {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}
