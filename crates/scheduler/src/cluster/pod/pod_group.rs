//! Groups of pods as far as schedulers read them, whatever version they are stored in.
//! Sources: `api/scheduling/v1alpha1/types.go` (Workload, 1.35), `v1alpha2` (PodGroup, 1.36), `v1alpha3` and `v1beta1` (PodGroup,
//! CompositePodGroup, 1.37).

use serde::Deserialize;

use crate::cluster::raw_object::{FromRaw, RawObject};

/// How the pods of a group, or the groups of a composite group, are scheduled.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GroupPolicy {
    /// All at once, or not at all.
    pub gang: Option<Gang>,
}

/// A gang.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gang {
    /// How many pods must find nodes together; of a composite group, how many groups.
    #[serde(alias = "minGroupCount")]
    pub min_count: usize,
}

/// A group of pods, as 1.36 and 1.37 have it, or a composite group: one of groups (1.37).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodGroup {
    /// Who it is.
    pub metadata: GroupMetadata,
    /// What it says.
    pub spec: PodGroupSpec,
    /// What became of its claims.
    pub status: PodGroupStatus,
}

/// Who a group is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupMetadata {
    /// Its uid.
    pub uid: String,
    /// When it was created, by seconds in RFC 3339: such texts sort by time.
    pub creation_timestamp: Option<String>,
}

/// A claim that pods of a group share (DRAWorkloadResourceClaims).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupClaim {
    /// What pods call it.
    pub name: String,
    /// The claim; otherwise one is made from a template.
    pub resource_claim_name: Option<String>,
}

/// What became of a group.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupStatus {
    /// The claims made for it.
    pub resource_claim_statuses: Vec<GroupClaim>,
}

/// What a group says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpec {
    /// How its pods are scheduled.
    pub scheduling_policy: GroupPolicy,
    /// Where its pods are to be together.
    pub scheduling_constraints: Option<GroupConstraints>,
    /// Whether its pods are evicted together.
    pub disruption_mode: Option<DisruptionMode>,
    /// Its priority; 0 where absent.
    pub priority: Option<i32>,
    /// `PreemptLowerPriority` or `Never` (1.37).
    pub preemption_policy: Option<String>,
    /// The composite group it belongs to (1.37).
    pub parent_composite_pod_group_name: Option<String>,
    /// Claims its pods share.
    pub resource_claims: Vec<GroupClaim>,
}

impl PodGroupSpec {
    /// The label by whose value nodes are told apart: all pods of the group go to nodes of one value. Upstream reads the first constraint alone.
    pub fn topology_key(&self) -> Option<&str> {
        self.scheduling_constraints.as_ref()?.topology.first().map(|constraint| constraint.key.as_str())
    }

    /// Whether evicting one of its pods means evicting all.
    pub fn is_disrupted_as_one(&self) -> bool {
        match &self.disruption_mode {
            Some(DisruptionMode::Named(name)) => name == "PodGroup",
            Some(DisruptionMode::Chosen { all }) => all.is_some(),
            None => false,
        }
    }
}

/// What a group asks of the nodes its pods are on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GroupConstraints {
    /// Labels whose value must be the same.
    pub topology: Vec<GroupTopology>,
}

/// A label whose value must be the same on all nodes of a group.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GroupTopology {
    /// The label's key.
    pub key: String,
}

/// Whether pods of a group are evicted one by one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum DisruptionMode {
    /// `Pod` or `PodGroup` (1.36).
    Named(String),
    /// `single` or `all` (1.37).
    Chosen {
        /// All at once.
        all: Option<serde_json::Map<String, serde_json::Value>>,
    },
}

/// A workload, as 1.35 has it: with the groups in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Workload {
    /// What it says.
    pub spec: WorkloadSpec,
}

/// What a workload says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpec {
    /// Its groups.
    pub pod_groups: Vec<WorkloadGroup>,
}

/// A group of a workload.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkloadGroup {
    /// Its name.
    pub name: String,
    /// How its pods are scheduled.
    pub policy: GroupPolicy,
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
