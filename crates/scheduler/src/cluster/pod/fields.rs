//! The fields of a Pod that some plugin reads, borrowed from the bytes of the pod: a large cluster has hundreds of thousands of them,
//! and most of what a pod holds is never looked at.

use serde::Deserialize;

use ketcd_kube::api::core::v1 as core;

use crate::cluster::device::node_allocatable_claim::NodeAllocatableClaimFields;
use crate::cluster::{Pairs, Text};

/// A Pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFields<'a> {
    /// `kind`; empty where it is not said.
    #[serde(borrow)]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow)]
    pub metadata: Option<MetadataFields<'a>>,
    /// `spec`.
    #[serde(borrow)]
    pub spec: Option<SpecFields<'a>>,
    /// `status`.
    #[serde(borrow)]
    pub status: Option<StatusFields<'a>>,
}

impl PodFields<'static> {
    /// The fields of a pod in JSON.
    ///
    /// # Errors
    /// One of them is not what it should be.
    pub fn of(pod: serde_json::Value) -> serde_json::Result<Self> {
        Self::deserialize(pod)
    }
}

/// An object's `metadata`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct MetadataFields<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub labels: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub annotations: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub owner_references: Option<Vec<OwnerFields<'a>>>,
    #[serde(borrow)]
    pub creation_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    pub deletion_timestamp: Option<Text<'a>>,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct OwnerFields<'a> {
    #[serde(borrow)]
    pub api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub uid: Option<Text<'a>>,
    pub controller: Option<bool>,
}

/// A Pod's `spec`. What few pods have is read into the API's own types.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct SpecFields<'a> {
    pub affinity: Option<core::Affinity>,
    #[serde(borrow)]
    pub containers: Option<Vec<ContainerFields<'a>>>,
    pub host_network: Option<bool>,
    pub host_users: Option<bool>,
    #[serde(borrow)]
    pub ephemeral_containers: Option<Vec<EphemeralFields<'a>>>,
    #[serde(borrow)]
    pub init_containers: Option<Vec<ContainerFields<'a>>>,
    #[serde(borrow)]
    pub node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub node_selector: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub overhead: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub preemption_policy: Option<Text<'a>>,
    pub priority: Option<i32>,
    pub resource_claims: Option<Vec<PodClaimFields>>,
    #[serde(borrow)]
    pub resources: Option<ResourceFields<'a>>,
    #[serde(borrow)]
    pub scheduler_name: Option<Text<'a>>,
    pub scheduling_gates: Option<Vec<core::PodSchedulingGate>>,
    pub scheduling_group: Option<core::PodSchedulingGroup>,
    /// 1.35 only.
    pub workload_ref: Option<WorkloadReference>,
    #[serde(borrow)]
    pub tolerations: Option<Vec<TolerationFields<'a>>>,
    pub topology_spread_constraints: Option<Vec<core::TopologySpreadConstraint>>,
    #[serde(borrow)]
    pub volumes: Option<Vec<VolumeFields<'a>>>,
}

/// A container.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ContainerFields<'a> {
    #[serde(borrow)]
    pub image: Option<Text<'a>>,
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub ports: Option<Vec<PortFields<'a>>>,
    #[serde(borrow)]
    pub resources: Option<ResourceFields<'a>>,
    #[serde(borrow)]
    pub restart_policy: Option<Text<'a>>,
    #[serde(borrow)]
    pub restart_policy_rules: Option<Vec<RuleFields<'a>>>,
    #[serde(borrow)]
    pub volume_mounts: Option<Vec<MountFields<'a>>>,
}

/// An ephemeral container.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct EphemeralFields<'a> {
    #[serde(borrow)]
    pub volume_mounts: Option<Vec<MountFields<'a>>>,
}

/// An entry of a container's `volumeMounts`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct MountFields<'a> {
    #[serde(borrow)]
    pub bind_mount_options: Option<Vec<Text<'a>>>,
}

/// An entry of a container's `restartPolicyRules`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct RuleFields<'a> {
    #[serde(borrow)]
    pub action: Option<Text<'a>>,
}

/// An entry of a container's `ports`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct PortFields<'a> {
    #[serde(borrow, rename = "hostIP")]
    pub host_ip: Option<Text<'a>>,
    pub host_port: Option<i32>,
    #[serde(borrow)]
    pub protocol: Option<Text<'a>>,
}

/// Requests and limits, the amounts as they are written; claims of devices.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ResourceFields<'a> {
    #[serde(borrow)]
    pub claims: Option<Vec<ClaimReferenceFields<'a>>>,
    #[serde(borrow)]
    pub limits: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub requests: Option<Pairs<'a>>,
}

/// An entry of a container's `resources.claims`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ClaimReferenceFields<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
}

/// A toleration.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct TolerationFields<'a> {
    #[serde(borrow)]
    pub effect: Option<Text<'a>>,
    #[serde(borrow)]
    pub key: Option<Text<'a>>,
    #[serde(borrow)]
    pub operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub value: Option<Text<'a>>,
}

/// A volume: the sources that some release's scheduler looks at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct VolumeFields<'a> {
    pub aws_elastic_block_store: Option<core::AWSElasticBlockStoreVolumeSource>,
    pub azure_disk: Option<core::AzureDiskVolumeSource>,
    pub azure_file: Option<core::AzureFileVolumeSource>,
    pub cinder: Option<core::CinderVolumeSource>,
    pub ephemeral: Option<Present>,
    pub gce_persistent_disk: Option<core::GCEPersistentDiskVolumeSource>,
    pub image: Option<core::ImageVolumeSource>,
    pub iscsi: Option<core::ISCSIVolumeSource>,
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub persistent_volume_claim: Option<ClaimSourceFields<'a>>,
    pub portworx_volume: Option<core::PortworxVolumeSource>,
    pub rbd: Option<core::RBDVolumeSource>,
    pub vsphere_volume: Option<core::VsphereVirtualDiskVolumeSource>,
}

/// A member of which only matters whether it is there.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Present {}

/// A volume's `persistentVolumeClaim`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ClaimSourceFields<'a> {
    #[serde(borrow)]
    pub claim_name: Text<'a>,
}

/// A Pod's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct StatusFields<'a> {
    #[serde(borrow)]
    pub allocated_resources: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub conditions: Option<Vec<ConditionFields<'a>>>,
    #[serde(borrow)]
    pub container_statuses: Option<Vec<ContainerStatusFields<'a>>>,
    #[serde(borrow)]
    pub init_container_statuses: Option<Vec<ContainerStatusFields<'a>>>,
    #[serde(borrow)]
    pub node_allocatable_resource_claim_statuses: Option<Vec<NodeAllocatableClaimFields<'a>>>,
    #[serde(borrow)]
    pub nominated_node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub resize: Option<Text<'a>>,
    pub resource_claim_statuses: Option<Vec<core::PodResourceClaimStatus>>,
    #[serde(borrow)]
    pub resources: Option<ResourceFields<'a>>,
    #[serde(borrow)]
    pub start_time: Option<Text<'a>>,
}

/// A condition of the status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ConditionFields<'a> {
    #[serde(borrow)]
    pub last_transition_time: Option<Text<'a>>,
    #[serde(borrow)]
    pub message: Option<Text<'a>>,
    #[serde(borrow)]
    pub reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub status: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    pub type_: Option<Text<'a>>,
}

/// What the kubelet says of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields' own names")]
pub struct ContainerStatusFields<'a> {
    #[serde(borrow)]
    pub allocated_resources: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub resources: Option<ResourceFields<'a>>,
}

/// The group of a workload that a pod is in (`spec.workloadRef`, 1.35).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadReference {
    /// The workload.
    pub name: String,
    /// The group.
    pub pod_group: String,
    /// Which of the group's replicas.
    pub pod_group_replica_key: String,
}

/// A claim of devices the pod names (`PodResourceClaim`).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct PodClaimFields {
    pub name: String,
    pub resource_claim_name: Option<String>,
    pub resource_claim_template_name: Option<String>,
    /// Where the two are up to 1.30.
    pub source: Option<PodClaimSource>,
}

/// Which claim it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct PodClaimSource {
    pub resource_claim_name: Option<String>,
    pub resource_claim_template_name: Option<String>,
}
