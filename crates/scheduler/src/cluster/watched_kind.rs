//! The kinds a scheduler watches, and the names of their objects.

use std::sync::Arc;

/// The kinds a scheduler watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the kinds' own names")]
pub enum WatchedKind {
    Pod,
    Node,
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
    PodDisruptionBudget,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    ResourceClass,
    PodScheduling,
    PodSchedulingContext,
    ResourceClassParameters,
    ResourceClaimParameters,
    DeviceTaintRule,
    PodGroup,
    CompositePodGroup,
    Workload,
}

impl WatchedKind {
    /// Every kind with the path of its keys below the API server's prefix (`staging/src/k8s.io/apiserver` and `pkg/registry`).
    pub const KEYS: [(&'static str, Self); 27] = [
        ("namespaces/", Self::Namespace),
        ("minions/", Self::Node),
        ("services/specs/", Self::Service),
        ("controllers/", Self::ReplicationController),
        ("replicasets/", Self::ReplicaSet),
        ("statefulsets/", Self::StatefulSet),
        ("persistentvolumes/", Self::PersistentVolume),
        ("persistentvolumeclaims/", Self::PersistentVolumeClaim),
        ("storageclasses/", Self::StorageClass),
        ("csinodes/", Self::CsiNode),
        ("csidrivers/", Self::CsiDriver),
        ("csistoragecapacities/", Self::CsiStorageCapacity),
        ("volumeattachments/", Self::VolumeAttachment),
        ("poddisruptionbudgets/", Self::PodDisruptionBudget),
        ("resourceclaims/", Self::ResourceClaim),
        ("resourceslices/", Self::ResourceSlice),
        ("deviceclasses/", Self::DeviceClass),
        ("resourceclasses/", Self::ResourceClass),
        ("podschedulings/", Self::PodScheduling),
        ("podschedulingcontexts/", Self::PodSchedulingContext),
        ("resourceclassparameters/", Self::ResourceClassParameters),
        ("resourceclaimparameters/", Self::ResourceClaimParameters),
        ("devicetaintrules/", Self::DeviceTaintRule),
        ("podgroups/", Self::PodGroup),
        ("compositepodgroups/", Self::CompositePodGroup),
        ("workloads/", Self::Workload),
        ("pods/", Self::Pod),
    ];
}

/// An object's kind, namespace (empty for cluster-wide kinds) and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: WatchedKind,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Parses what follows the prefix in a key of etcd, for example `pods/shop/web-0`; `None` for kinds no scheduler watches.
    pub fn parse(path: &str) -> Option<Self> {
        let (kind, rest) = WatchedKind::KEYS.iter().find_map(|(prefix, kind)| Some((*kind, path.strip_prefix(prefix)?)))?;
        let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
        (!name.is_empty() && !name.contains('/')).then(|| Self { kind, namespace: namespace.into(), name: name.into() })
    }

    /// The object as a path of plural, namespace and name: `pods/shop/web-0`.
    pub fn path(&self) -> String {
        let plural = match self.kind {
            WatchedKind::Node => "nodes/",
            WatchedKind::Service => "services/",
            WatchedKind::ReplicationController => "replicationcontrollers/",
            kind => WatchedKind::KEYS.iter().find(|(_, known)| *known == kind).map_or("", |(path, _)| path),
        };
        if self.namespace.is_empty() { format!("{plural}{}", self.name) } else { format!("{plural}{}/{}", self.namespace, self.name) }
    }
}
