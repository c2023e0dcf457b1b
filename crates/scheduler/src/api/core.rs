//! Types of the core group (`v1`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{meta, or_default};

/// A volume on an EBS disk.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AWSElasticBlockStoreVolumeSource {
    pub(crate) read_only: Option<bool>,
    #[serde(rename = "volumeID", deserialize_with = "or_default")]
    pub(crate) volume_id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Affinity {
    pub(crate) node_affinity: Option<NodeAffinity>,
    pub(crate) pod_affinity: Option<PodAffinity>,
    pub(crate) pod_anti_affinity: Option<PodAntiAffinity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AzureDiskVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) disk_name: String,
    #[serde(rename = "diskURI", deserialize_with = "or_default")]
    pub(crate) disk_uri: String,
    pub(crate) kind: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AzureFilePersistentVolumeSource {}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AzureFileVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) share_name: String,
}

/// A persistent volume of a CSI driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CSIPersistentVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) driver: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) volume_handle: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CinderPersistentVolumeSource {
    #[serde(rename = "volumeID", deserialize_with = "or_default")]
    pub(crate) volume_id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CinderVolumeSource {
    #[serde(rename = "volumeID", deserialize_with = "or_default")]
    pub(crate) volume_id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Event {
    #[serde(deserialize_with = "or_default")]
    pub(crate) involved_object: ObjectReference,
    pub(crate) message: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) count: Option<i64>,
    pub(crate) series: Option<EventSeries>,
}

/// How often an Event was repeated.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EventSeries {
    pub(crate) count: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GCEPersistentDiskVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) pd_name: String,
    pub(crate) read_only: Option<bool>,
}

/// A volume on an iSCSI disk.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ISCSIVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) iqn: String,
    pub(crate) read_only: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ImageVolumeSource {
    pub(crate) reference: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Namespace {
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAffinity {
    pub(crate) preferred_during_scheduling_ignored_during_execution: Option<Vec<PreferredSchedulingTerm>>,
    pub(crate) required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
}

/// Terms of which a node has to match one.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSelector {
    #[serde(deserialize_with = "or_default")]
    pub(crate) node_selector_terms: Vec<NodeSelectorTerm>,
}

/// A condition on one label or field of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct NodeSelectorRequirement {
    #[serde(deserialize_with = "or_default")]
    pub(crate) key: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) operator: String,
    pub(crate) values: Option<Vec<String>>,
}

/// Requirements of which a node has to match all.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSelectorTerm {
    pub(crate) match_expressions: Option<Vec<NodeSelectorRequirement>>,
    pub(crate) match_fields: Option<Vec<NodeSelectorRequirement>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectReference {
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) uid: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PersistentVolume {
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    pub(crate) spec: Option<PersistentVolumeSpec>,
    pub(crate) status: Option<PersistentVolumeStatus>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PersistentVolumeClaim {
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    pub(crate) spec: Option<PersistentVolumeClaimSpec>,
    pub(crate) status: Option<PersistentVolumeClaimStatus>,
}

/// A claim's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PersistentVolumeClaimSpec {
    pub(crate) access_modes: Option<Vec<String>>,
    pub(crate) resources: Option<VolumeResourceRequirements>,
    pub(crate) selector: Option<meta::LabelSelector>,
    pub(crate) storage_class_name: Option<String>,
    pub(crate) volume_attributes_class_name: Option<String>,
    pub(crate) volume_mode: Option<String>,
    pub(crate) volume_name: Option<String>,
}

/// A claim's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PersistentVolumeClaimStatus {
    pub(crate) phase: Option<String>,
}

/// A volume's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PersistentVolumeSpec {
    pub(crate) access_modes: Option<Vec<String>>,
    pub(crate) aws_elastic_block_store: Option<AWSElasticBlockStoreVolumeSource>,
    pub(crate) azure_disk: Option<AzureDiskVolumeSource>,
    pub(crate) azure_file: Option<AzureFilePersistentVolumeSource>,
    pub(crate) capacity: Option<BTreeMap<String, meta::Quantity>>,
    pub(crate) cinder: Option<CinderPersistentVolumeSource>,
    pub(crate) claim_ref: Option<ObjectReference>,
    pub(crate) csi: Option<CSIPersistentVolumeSource>,
    pub(crate) gce_persistent_disk: Option<GCEPersistentDiskVolumeSource>,
    pub(crate) node_affinity: Option<VolumeNodeAffinity>,
    pub(crate) portworx_volume: Option<PortworxVolumeSource>,
    pub(crate) rbd: Option<RBDPersistentVolumeSource>,
    pub(crate) storage_class_name: Option<String>,
    pub(crate) volume_attributes_class_name: Option<String>,
    pub(crate) volume_mode: Option<String>,
    pub(crate) vsphere_volume: Option<VsphereVirtualDiskVolumeSource>,
}

/// A volume's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PersistentVolumeStatus {
    pub(crate) phase: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodAffinity {
    pub(crate) preferred_during_scheduling_ignored_during_execution: Option<Vec<WeightedPodAffinityTerm>>,
    pub(crate) required_during_scheduling_ignored_during_execution: Option<Vec<PodAffinityTerm>>,
}

/// The pods a term selects, and the topology it counts them in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodAffinityTerm {
    pub(crate) label_selector: Option<meta::LabelSelector>,
    pub(crate) namespace_selector: Option<meta::LabelSelector>,
    pub(crate) namespaces: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) topology_key: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodAntiAffinity {
    pub(crate) preferred_during_scheduling_ignored_during_execution: Option<Vec<WeightedPodAffinityTerm>>,
    pub(crate) required_during_scheduling_ignored_during_execution: Option<Vec<PodAffinityTerm>>,
}

/// The name of the ResourceClaim that was generated for a pod's claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodResourceClaimStatus {
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    pub(crate) resource_claim_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodSchedulingGate {
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSchedulingGroup {
    pub(crate) pod_group_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PortworxVolumeSource {
    #[serde(rename = "volumeID", deserialize_with = "or_default")]
    pub(crate) volume_id: String,
}

/// A term of node affinity with its weight.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PreferredSchedulingTerm {
    #[serde(deserialize_with = "or_default")]
    pub(crate) preference: NodeSelectorTerm,
    #[serde(deserialize_with = "or_default")]
    pub(crate) weight: i32,
}

/// A persistent volume on a Ceph RBD image.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RBDPersistentVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) image: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) monitors: Vec<String>,
    pub(crate) pool: Option<String>,
}

/// A volume on a Ceph RBD image.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RBDVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) image: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) monitors: Vec<String>,
    pub(crate) pool: Option<String>,
    pub(crate) read_only: Option<bool>,
}

/// Values of a label, one of which a node has to have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TopologySelectorLabelRequirement {
    #[serde(deserialize_with = "or_default")]
    pub(crate) key: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) values: Vec<String>,
}

/// Requirements of a topology, all of which a node has to match.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TopologySelectorTerm {
    pub(crate) match_label_expressions: Option<Vec<TopologySelectorLabelRequirement>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TopologySpreadConstraint {
    pub(crate) label_selector: Option<meta::LabelSelector>,
    pub(crate) match_label_keys: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) max_skew: i32,
    pub(crate) min_domains: Option<i32>,
    pub(crate) node_affinity_policy: Option<String>,
    pub(crate) node_taints_policy: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) topology_key: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) when_unsatisfiable: String,
}

/// The nodes a persistent volume can be reached from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct VolumeNodeAffinity {
    pub(crate) required: Option<NodeSelector>,
}

/// The storage a claim requests.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VolumeResourceRequirements {
    pub(crate) requests: Option<BTreeMap<String, meta::Quantity>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VsphereVirtualDiskVolumeSource {
    #[serde(deserialize_with = "or_default")]
    pub(crate) volume_path: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WeightedPodAffinityTerm {
    #[serde(deserialize_with = "or_default")]
    pub(crate) pod_affinity_term: PodAffinityTerm,
    #[serde(deserialize_with = "or_default")]
    pub(crate) weight: i32,
}
