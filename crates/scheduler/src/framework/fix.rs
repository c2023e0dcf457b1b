//! One change to the pod, a node or the cluster that may let the pod fit.

use std::sync::Arc;

use crate::api::core::PersistentVolumeClaim;
use crate::cluster::{PodInfo, PodKey, Taint};

/// A change that people can make. Amounts and skews are zero until a trial has found the necessary value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Fix {
    /// Make the node schedulable again, its taint included.
    Uncordon,
    /// Tolerate a taint.
    Tolerate(Taint),
    /// Take a taint off the node.
    RemoveTaint(Taint),
    /// Request less of a resource.
    LowerRequest {
        /// The resource.
        resource: Arc<str>,
        /// By how much, in the scheduler's unit (millicores of cpu).
        by: i64,
    },
    /// Add a label to the node.
    AddLabel {
        /// Its key.
        key: Arc<str>,
        /// Its value.
        value: Arc<str>,
    },
    /// Remove a label from the node.
    RemoveLabel {
        /// Its key.
        key: Arc<str>,
    },
    /// Drop an entry of the node selector.
    DropNodeSelector {
        /// The label's key.
        key: Arc<str>,
    },
    /// Drop the required node affinity.
    DropNodeAffinity,
    /// Take another host port.
    ChangeHostPort {
        /// The protocol of the one that is taken.
        protocol: Arc<str>,
        /// The one that is taken.
        port: i32,
    },
    /// Delete a pod that prevents it.
    DeletePod(PodKey),
    /// Raise the `maxSkew` of a spread constraint.
    RaiseMaxSkew {
        /// The constraint's place in the pod.
        constraint: usize,
        /// Its topology key.
        topology_key: Arc<str>,
        /// What to raise it to.
        max_skew: i32,
    },
    /// Give a spread constraint `nodeTaintsPolicy: Honor`, so that it counts no node whose taints the pod does not tolerate.
    HonorTaints {
        /// The constraint's place in the pod.
        constraint: usize,
        /// Its topology key.
        topology_key: Arc<str>,
    },
    /// Make a spread constraint `ScheduleAnyway`.
    SoftenSpread {
        /// The constraint's place in the pod.
        constraint: usize,
        /// Its topology key.
        topology_key: Arc<str>,
    },
    /// Make required pod affinity preferred.
    SoftenAffinity,
    /// Make required pod anti-affinity preferred.
    SoftenAntiAffinity,
    /// Make a released volume available.
    FreeVolume {
        /// The volume.
        volume: Arc<str>,
    },
    /// Provide a volume, reachable from the node, for a claim that waits for its pod.
    ProvideVolume(VolumeRequest),
    /// Provide a volume for a claim that does not wait for its pod, so that it is bound.
    BindClaim(VolumeRequest),
    /// Create a missing claim in the pod's namespace, and its volume.
    CreateClaim {
        /// The claim.
        claim: Arc<str>,
    },
    /// Restore a volume that is gone though a claim is bound to it.
    RestoreVolume {
        /// The claim, in the pod's namespace.
        claim: Arc<str>,
        /// The volume.
        volume: Arc<str>,
    },
    /// Delete the pod that holds a claim for devices, so that these are free.
    ReleaseDevices {
        /// The claim, in that pod's namespace.
        claim: Arc<str>,
        /// The pod.
        pod: PodKey,
    },
}

/// The request of a PersistentVolumeClaim of the pod's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct VolumeRequest {
    /// The claim's name.
    pub claim: Arc<str>,
    /// The storage it requests.
    pub size: Option<Arc<str>>,
    /// Its class, where it names one.
    pub class: Option<Arc<str>>,
}

impl VolumeRequest {
    pub(crate) fn of(claim: &PersistentVolumeClaim) -> Self {
        let spec = claim.spec.as_ref();
        let size = spec.and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage"));
        let class = spec.and_then(|spec| spec.storage_class_name.as_deref()).filter(|class| !class.is_empty());
        Self {
            claim: claim.metadata.name.as_deref().unwrap_or_default().into(),
            size: size.map(|size| size.0.as_str().into()),
            class: class.map(Arc::from),
        }
    }
}

impl Fix {
    /// Deletions of some pods, one fix each.
    pub(crate) fn deletions<'a>(pods: impl IntoIterator<Item = &'a Arc<PodInfo>>) -> Vec<Self> {
        pods.into_iter().filter(|pod| !pod.returns_or_stays()).map(|pod| Self::DeletePod(pod.key())).collect()
    }

    /// A label added to the node or, without a value, removed.
    pub(crate) fn label(key: Arc<str>, value: Option<Arc<str>>) -> Self {
        match value {
            Some(value) => Self::AddLabel { key, value },
            None => Self::RemoveLabel { key },
        }
    }
}

/// Whether people may change a label: labels that identify a node or its location are not free.
pub(crate) fn is_free_label(key: &str) -> bool {
    let prefix = key.split_once('/').map(|(prefix, _)| prefix);
    !prefix.is_some_and(|prefix| prefix.ends_with("kubernetes.io") || prefix.ends_with("k8s.io"))
}
