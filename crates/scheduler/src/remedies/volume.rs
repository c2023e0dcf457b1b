//! Volumes and claims that a change creates, with the fields that filters read.

use std::sync::Arc;

use crate::api::core::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec,
    PersistentVolumeStatus, VolumeNodeAffinity,
};
use crate::api::meta::ObjectMeta;
use crate::cluster::{CachedObject, ClusterState, ObjectKey, WatchedKind};

/// Returns a volume as the cluster's state holds it.
pub(super) fn stored(volume: PersistentVolume) -> (ObjectKey, Option<CachedObject>) {
    let key = ObjectKey { kind: WatchedKind::PersistentVolume, namespace: Arc::default(), name: name(&volume.metadata).into() };
    (key, Some(CachedObject::PersistentVolume(Arc::new(volume))))
}

pub(super) fn freed(released: &PersistentVolume) -> PersistentVolume {
    let mut freed = released.clone();
    freed.spec.get_or_insert_default().claim_ref = None;
    freed.status.get_or_insert_default().phase = Some("Available".to_owned());
    freed
}

/// Returns a claim bound to a volume of its own that every node can reach.
pub(super) fn bound(claim: &PersistentVolumeClaim, volume_name: &str) -> Vec<(ObjectKey, Option<CachedObject>)> {
    let mut bound = claim.clone();
    bound.metadata.annotations.get_or_insert_default().insert("pv.kubernetes.io/bind-completed".to_owned(), "yes".to_owned());
    bound.spec.get_or_insert_default().volume_name = Some(volume_name.to_owned());
    let volume = PersistentVolume {
        metadata: ObjectMeta { name: Some(volume_name.to_owned()), ..ObjectMeta::default() },
        spec: Some(PersistentVolumeSpec::default()),
        status: Some(PersistentVolumeStatus { phase: Some("Bound".to_owned()) }),
    };
    let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
    let key = ObjectKey { kind: WatchedKind::PersistentVolumeClaim, namespace: namespace.into(), name: name(&claim.metadata).into() };
    vec![stored(volume), (key, Some(CachedObject::PersistentVolumeClaim(Arc::new(bound))))]
}

/// Returns a free volume that a claim can bind to on the node.
pub(super) fn volume_for(claim: &PersistentVolumeClaim, node: &str, state: &ClusterState) -> Option<PersistentVolume> {
    let spec = claim.spec.clone()?;
    let info = state.node(node)?;
    let host = info.labels.get("kubernetes.io/hostname").map(|host| NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: Some(vec![NodeSelectorRequirement {
                key: "kubernetes.io/hostname".to_owned(),
                operator: "In".to_owned(),
                values: Some(vec![host.to_owned()]),
            }]),
            match_fields: None,
        }],
    });
    let labels = spec.selector.as_ref().and_then(|selector| selector.match_labels.clone());
    Some(PersistentVolume {
        metadata: ObjectMeta { name: Some(format!("for-{}-on-{node}", name(&claim.metadata))), labels, ..ObjectMeta::default() },
        spec: Some(PersistentVolumeSpec {
            capacity: spec.resources.and_then(|resources| resources.requests),
            access_modes: spec.access_modes,
            storage_class_name: spec.storage_class_name,
            volume_mode: spec.volume_mode,
            volume_attributes_class_name: spec.volume_attributes_class_name,
            node_affinity: host.map(|required| VolumeNodeAffinity { required: Some(required) }),
            ..PersistentVolumeSpec::default()
        }),
        status: Some(PersistentVolumeStatus { phase: Some("Available".to_owned()) }),
    })
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}
