//! The needs behind a filter's rejection: sets of changes of which every remedy must contain one, or the obstacle.

use std::borrow::Cow;
use std::sync::Arc;

use crate::cluster::PodKey;

use super::fix::Fix;

/// A node that needs more changes than this gets no remedy.
pub const MOST_CHANGES: usize = 6;

/// One cause of a rejection. Whatever else is changed, the pod fits only if one of these changes is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The changes; none: no known change meets it.
    pub options: Vec<Fix>,
    /// The obstacles, where there is no change.
    pub obstacles: Vec<Obstacle>,
}

impl Need {
    /// Met by any one of these changes.
    pub fn one_of(options: Vec<Fix>) -> Self {
        Self { options, obstacles: Vec::new() }
    }

    /// Met by any one of these changes; if there are none, `obstacle` says why.
    pub fn one_of_or(options: Vec<Fix>, obstacle: Obstacle) -> Self {
        Self { options, obstacles: vec![obstacle] }
    }

    /// Met by no known change.
    pub fn hopeless(obstacle: Obstacle) -> Self {
        Self::one_of_or(Vec::new(), obstacle)
    }
}

/// What a filter reads in addition to what its needs name. A change made for another filter may meet or raise its needs if it changes that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// The node's labels.
    pub labels: bool,
    /// Pods, wherever they are.
    pub pods: bool,
    /// The nodes the pod may be placed on at all.
    pub admitted_nodes: bool,
}

/// What is changed to meet a filter's needs. Filters of different kinds have no change in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ChangeOf {
    /// The node: cordon, conditions, taints.
    Node,
    /// The node's labels, or what the pod requires of them.
    Labels,
    /// Volumes and claims.
    Volumes,
    /// Pods, this one's requests included; also where no change is known.
    Pods,
}

/// Why no change is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Obstacle {
    /// Upstream's reasons for the rejection.
    Refused(Vec<Cow<'static, str>>),
    /// The evidence is missing.
    Unknown {
        /// What is missing.
        missing: Cow<'static, str>,
    },
    /// The attempt fails with this error.
    Error(String),
    /// More changes than [`MOST_CHANGES`] would be needed.
    TooManyChanges,
    /// The pod is the DaemonSet's pod for another node.
    OtherDaemonSetNode,
    /// The pod names another node.
    OtherNodeNamed,
    /// The pod's volumes are on other nodes.
    VolumesElsewhere,
    /// The node's kubelet does not declare a feature.
    FeatureNotDeclared,
    /// A condition says that the node is unhealthy.
    Condition {
        /// Its type.
        kind: Arc<str>,
        /// Its status.
        status: Arc<str>,
    },
    /// A taint that a component of Kubernetes sets and takes off: the node is unhealthy, shut down, or not initialised yet.
    UnhealthyTaint {
        /// Its key.
        key: Arc<str>,
        /// Its effect.
        effect: Arc<str>,
    },
    /// The scheduler's Policy wants a label that people should not change.
    PolicyLabel {
        /// The label.
        key: Arc<str>,
        /// What the node has.
        value: Option<Arc<str>>,
        /// What the Policy wants; `None`: no such label.
        wanted: Option<Arc<str>>,
    },
    /// `addedAffinity` of the scheduler's configuration keeps pods off the node.
    AddedAffinity,
    /// The node has as many pods as it allows, and none of them may be deleted.
    TooManyPods,
    /// The node lacks a resource.
    NoRoom,
    /// The default constraints of the scheduler's configuration.
    DefaultConstraints,
    /// More pods have anti-affinity against the pod than [`MOST_CHANGES`].
    ManyAntiAffinePods,
    /// A pod that may not be deleted has anti-affinity against the pod.
    AntiAffinePod(PodKey),
    /// The claim of an ephemeral volume is the controller's to create.
    EphemeralClaimMissing {
        /// The claim.
        claim: Arc<str>,
    },
    /// A claim is being deleted.
    ClaimDeleted {
        /// The claim.
        claim: Arc<str>,
    },
    /// A claim is being provisioned on another node.
    ProvisionedElsewhere {
        /// The claim.
        claim: Arc<str>,
        /// That node.
        node: Arc<str>,
    },
    /// A bound volume is not reachable from the node.
    VolumeOutOfReach {
        /// The volume.
        volume: Arc<str>,
    },
    /// A bound volume is in another zone or region.
    VolumeInZone {
        /// The volume.
        volume: Arc<str>,
        /// The label.
        key: Arc<str>,
        /// The zones or regions it is in.
        values: Vec<Arc<str>>,
    },
    /// A pod that may not be deleted uses the disk.
    DiskInUse(PodKey),
    /// A pod that may not be deleted uses a ReadWriteOncePod claim.
    ClaimInUse {
        /// The claim.
        claim: Arc<str>,
        /// The pod.
        pod: PodKey,
    },
    /// No pod of the node that may be deleted has volumes.
    NoVolumesToDetach,
    /// No device is free, and none is held by a single pod.
    NoFreeDevice,
}
