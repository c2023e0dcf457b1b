//! Rules for claims and volumes.

use serde_json::Value;

use super::edit::{remove, remove_marks};
use crate::identity::is;

/// What the binder, provisioners and the scheduler record on claims and volumes (`component-helpers/storage/volume`). The provisioner's own note on a
/// volume, `pv.kubernetes.io/provisioned-by`, is kept: it says who deletes its disk.
const BINDING_ANNOTATIONS: &[&str] = &[
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-resizer",
];

pub(super) fn binding_annotations(object: &mut Value) -> bool {
    (is(object, "", "PersistentVolumeClaim") || is(object, "", "PersistentVolume"))
        && remove_marks(object, "/metadata", "annotations", |name| BINDING_ANNOTATIONS.contains(&name))
}

pub(super) fn volume_name(object: &mut Value) -> bool {
    is(object, "", "PersistentVolumeClaim") && remove(object, "/spec", &["volumeName"])
}

pub(super) fn claim_ref(object: &mut Value) -> bool {
    is(object, "", "PersistentVolume") && remove(object, "/spec", &["claimRef"])
}

pub(super) fn claim_uid(object: &mut Value) -> bool {
    is(object, "", "PersistentVolume") && remove(object, "/spec/claimRef", &["uid", "resourceVersion"])
}
