//! Types of `storage.k8s.io/v1`.

use serde::Deserialize;

use super::{core, meta, or_default};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CSIDriver {
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: CSIDriverSpec,
}

/// A driver's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CSIDriverSpec {
    pub(crate) prevent_pod_scheduling_if_missing: Option<bool>,
    pub(crate) storage_capacity: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CSINode {
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: CSINodeSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CSINodeDriver {
    pub(crate) allocatable: Option<VolumeNodeResources>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
}

/// A CSINode's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CSINodeSpec {
    #[serde(deserialize_with = "or_default")]
    pub(crate) drivers: Vec<CSINodeDriver>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CSIStorageCapacity {
    pub(crate) capacity: Option<meta::Quantity>,
    pub(crate) maximum_volume_size: Option<meta::Quantity>,
    pub(crate) node_topology: Option<meta::LabelSelector>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) storage_class_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StorageClass {
    pub(crate) allowed_topologies: Option<Vec<core::TopologySelectorTerm>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    #[serde(deserialize_with = "or_default")]
    pub(crate) provisioner: String,
    pub(crate) volume_binding_mode: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VolumeAttachment {
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: VolumeAttachmentSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeAttachmentSource {
    pub(crate) persistent_volume_name: Option<String>,
}

/// An attachment's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeAttachmentSpec {
    #[serde(deserialize_with = "or_default")]
    pub(crate) attacher: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) node_name: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) source: VolumeAttachmentSource,
}

/// How many volumes of a driver a node can have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VolumeNodeResources {
    pub(crate) count: Option<i32>,
}
