//! Kubernetes' types as far as a scheduler reads them: the fields' names and shapes are the API's (k8s.io/api, 1.37); others are passed over.
//!
//! Reading is as lenient as the API server's: a field that is absent or null is empty.

pub(crate) mod core;
pub(crate) mod meta;
pub(crate) mod policy;
pub(crate) mod resource;
pub(crate) mod storage;

use serde::{Deserialize, Deserializer};

/// Reads a field that the API server may write as null where it is empty.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A type that whole objects are read as.
pub(crate) trait Resource {}

macro_rules! resources {
    ($($name:path),* $(,)?) => { $(impl Resource for $name {})* };
}

resources!(
    core::Namespace,
    core::PersistentVolume,
    core::PersistentVolumeClaim,
    policy::PodDisruptionBudget,
    storage::CSIDriver,
    storage::CSINode,
    storage::CSIStorageCapacity,
    storage::StorageClass,
    storage::VolumeAttachment,
);
