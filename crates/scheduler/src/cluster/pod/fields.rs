//! The fields of a Pod that some plugin reads, borrowed from the stored bytes: a large cluster has hundreds of thousands of pods, most of whose
//! fields are never read.

use serde::Deserialize;

use crate::api::core;
use crate::cluster::device::node_allocatable_claim::NodeAllocatableClaimFields;
use crate::cluster::{Pairs, Text};

/// A Pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFields<'a> {
    /// `kind`; empty where it is absent.
    #[serde(borrow)]
    pub(crate) kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow)]
    pub(crate) metadata: Option<MetadataFields<'a>>,
    /// `spec`.
    #[serde(borrow)]
    pub(crate) spec: Option<SpecFields<'a>>,
    /// `status`.
    #[serde(borrow)]
    pub(crate) status: Option<StatusFields<'a>>,
}

impl PodFields<'static> {
    /// Parses the fields of a pod from JSON.
    ///
    /// # Errors
    /// One of them has the wrong type.
    pub fn of(pod: serde_json::Value) -> serde_json::Result<Self> {
        Self::deserialize(pod)
    }
}

/// An object's `metadata`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetadataFields<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) labels: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) annotations: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) owner_references: Option<Vec<OwnerReferenceFields<'a>>>,
    #[serde(borrow)]
    pub(crate) creation_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) deletion_timestamp: Option<Text<'a>>,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReferenceFields<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
    pub(crate) controller: Option<bool>,
}

/// A Pod's `spec`. Fields that few pods have are parsed into the API's own types.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpecFields<'a> {
    pub(crate) affinity: Option<core::Affinity>,
    #[serde(borrow)]
    pub(crate) containers: Option<Vec<ContainerFields<'a>>>,
    pub(crate) host_network: Option<bool>,
    pub(crate) host_users: Option<bool>,
    #[serde(borrow)]
    pub(crate) ephemeral_containers: Option<Vec<EphemeralFields<'a>>>,
    #[serde(borrow)]
    pub(crate) init_containers: Option<Vec<ContainerFields<'a>>>,
    #[serde(borrow)]
    pub(crate) node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) node_selector: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) overhead: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) preemption_policy: Option<Text<'a>>,
    pub(crate) priority: Option<i32>,
    pub(crate) resource_claims: Option<Vec<PodClaimFields>>,
    #[serde(borrow)]
    pub(crate) resources: Option<ResourceFields<'a>>,
    #[serde(borrow)]
    pub(crate) scheduler_name: Option<Text<'a>>,
    pub(crate) scheduling_gates: Option<Vec<core::PodSchedulingGate>>,
    pub(crate) scheduling_group: Option<core::PodSchedulingGroup>,
    /// 1.35 only.
    pub(crate) workload_ref: Option<WorkloadReference>,
    #[serde(borrow)]
    pub(crate) tolerations: Option<Vec<TolerationFields<'a>>>,
    pub(crate) topology_spread_constraints: Option<Vec<core::TopologySpreadConstraint>>,
    #[serde(borrow)]
    pub(crate) volumes: Option<Vec<VolumeFields<'a>>>,
}

#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerFields<'a> {
    #[serde(borrow)]
    pub(crate) image: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) ports: Option<Vec<PortFields<'a>>>,
    #[serde(borrow)]
    pub(crate) resources: Option<ResourceFields<'a>>,
    #[serde(borrow)]
    pub(crate) restart_policy: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) restart_policy_rules: Option<Vec<RuleFields<'a>>>,
    #[serde(borrow)]
    pub(crate) volume_mounts: Option<Vec<MountFields<'a>>>,
}

#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EphemeralFields<'a> {
    #[serde(borrow)]
    pub(crate) volume_mounts: Option<Vec<MountFields<'a>>>,
}

/// An entry of a container's `volumeMounts`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MountFields<'a> {
    #[serde(borrow)]
    pub(crate) bind_mount_options: Option<Vec<Text<'a>>>,
}

/// An entry of a container's `restartPolicyRules`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RuleFields<'a> {
    #[serde(borrow)]
    pub(crate) action: Option<Text<'a>>,
}

/// An entry of a container's `ports`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PortFields<'a> {
    #[serde(borrow, rename = "hostIP")]
    pub(crate) host_ip: Option<Text<'a>>,
    pub(crate) host_port: Option<i32>,
    #[serde(borrow)]
    pub(crate) protocol: Option<Text<'a>>,
}

/// Requests and limits, the amounts as text; claims of devices.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceFields<'a> {
    #[serde(borrow)]
    pub(crate) claims: Option<Vec<ClaimReferenceFields<'a>>>,
    #[serde(borrow)]
    pub(crate) limits: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) requests: Option<Pairs<'a>>,
}

/// An entry of a container's `resources.claims`.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimReferenceFields<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
}

#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TolerationFields<'a> {
    #[serde(borrow)]
    pub(crate) effect: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) value: Option<Text<'a>>,
}

/// A volume: the sources that some release's scheduler reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeFields<'a> {
    pub(crate) aws_elastic_block_store: Option<core::AWSElasticBlockStoreVolumeSource>,
    pub(crate) azure_disk: Option<core::AzureDiskVolumeSource>,
    pub(crate) azure_file: Option<core::AzureFileVolumeSource>,
    pub(crate) cinder: Option<core::CinderVolumeSource>,
    pub(crate) ephemeral: Option<Present>,
    pub(crate) gce_persistent_disk: Option<core::GCEPersistentDiskVolumeSource>,
    pub(crate) image: Option<core::ImageVolumeSource>,
    pub(crate) iscsi: Option<core::ISCSIVolumeSource>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) persistent_volume_claim: Option<ClaimSourceFields<'a>>,
    pub(crate) portworx_volume: Option<core::PortworxVolumeSource>,
    pub(crate) rbd: Option<core::RBDVolumeSource>,
    pub(crate) vsphere_volume: Option<core::VsphereVirtualDiskVolumeSource>,
}

/// A field that matters only by its presence.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Present {}

/// A volume's `persistentVolumeClaim`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSourceFields<'a> {
    #[serde(borrow)]
    pub(crate) claim_name: Text<'a>,
}

/// A Pod's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StatusFields<'a> {
    #[serde(borrow)]
    pub(crate) allocated_resources: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) conditions: Option<Vec<ConditionFields<'a>>>,
    #[serde(borrow)]
    pub(crate) container_statuses: Option<Vec<ContainerStatusFields<'a>>>,
    #[serde(borrow)]
    pub(crate) init_container_statuses: Option<Vec<ContainerStatusFields<'a>>>,
    #[serde(borrow)]
    pub(crate) node_allocatable_resource_claim_statuses: Option<Vec<NodeAllocatableClaimFields<'a>>>,
    #[serde(borrow)]
    pub(crate) nominated_node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resize: Option<Text<'a>>,
    pub(crate) resource_claim_statuses: Option<Vec<core::PodResourceClaimStatus>>,
    #[serde(borrow)]
    pub(crate) resources: Option<ResourceFields<'a>>,
    #[serde(borrow)]
    pub(crate) start_time: Option<Text<'a>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ConditionFields<'a> {
    #[serde(borrow)]
    pub(crate) last_transition_time: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) message: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    pub(crate) type_: Option<Text<'a>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatusFields<'a> {
    #[serde(borrow)]
    pub(crate) allocated_resources: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resources: Option<ResourceFields<'a>>,
}

/// The pod group of a workload that a pod is in (`spec.workloadRef`, 1.35).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadReference {
    pub(crate) name: String,
    pub(crate) pod_group: String,
    pub(crate) pod_group_replica_key: String,
}

/// A claim of devices the pod names (`PodResourceClaim`).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodClaimFields {
    pub(crate) name: String,
    pub(crate) resource_claim_name: Option<String>,
    pub(crate) resource_claim_template_name: Option<String>,
    /// Up to 1.30 both names are here.
    pub(crate) source: Option<PodClaimSource>,
}

/// The names of a claim or template.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodClaimSource {
    pub(crate) resource_claim_name: Option<String>,
    pub(crate) resource_claim_template_name: Option<String>,
}
