//! What filters check about volumes and PersistentVolumeClaims. Claims are of the pod's namespace.

use std::sync::Arc;

use crate::cluster::{PodKey, VolumeSource};

use super::labels::WantedLabel;

/// A check on the pod's volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum VolumeCheck {
    /// A disk that pods on one node cannot share.
    Disk {
        /// The disk.
        disk: VolumeSource,
        /// The pod on the node that has it.
        user: Option<PodKey>,
    },
    /// A claim with access mode ReadWriteOncePod.
    ReadWriteOncePod {
        /// The claim.
        claim: Arc<str>,
        /// Another pod that uses it, and its node.
        user: Option<(PodKey, Arc<str>)>,
    },
    /// The pod has neither such a disk nor such a claim.
    NothingExclusive,
    /// The pod has no claims.
    NoClaims,
    /// A claim does not exist.
    ClaimMissing {
        /// The claim.
        claim: Arc<str>,
    },
    /// A claim is unbound though its class binds at once (`volumeBindingMode: Immediate`).
    UnboundImmediate {
        /// The claim.
        claim: Arc<str>,
    },
    /// A claim's volume does not exist.
    VolumeMissing {
        /// The claim.
        claim: Arc<str>,
        /// The volume it is bound to.
        volume: Arc<str>,
    },
    /// A claim's volume, reached from the node or not.
    Bound {
        /// The claim.
        claim: Arc<str>,
        /// The volume it is bound to.
        volume: Arc<str>,
        /// The labels of the volume's node affinity that decide; none: it has no affinity that names labels.
        affinity: Vec<WantedLabel>,
    },
    /// An unbound claim would get a volume that exists.
    WouldBind {
        /// The claim.
        claim: Arc<str>,
        /// The volume.
        volume: Arc<str>,
    },
    /// A volume would be provisioned for an unbound claim.
    WouldProvision {
        /// The claim.
        claim: Arc<str>,
        /// Its StorageClass.
        class: Arc<str>,
    },
    /// A volume is being provisioned for a claim on another node (`volume.kubernetes.io/selected-node`).
    ProvisionedElsewhere {
        /// The claim.
        claim: Arc<str>,
        /// The node.
        node: Arc<str>,
    },
    /// An unbound claim for which the node has no volume.
    NoVolume {
        /// The claim.
        claim: Arc<str>,
        /// The storage it requests.
        size: Option<Arc<str>>,
        /// Its StorageClass; empty where it has none.
        class: Arc<str>,
        /// How many volumes the class has.
        volumes: usize,
        /// How many of these are available.
        free: usize,
        /// How many of the available ones the node reaches.
        reached: usize,
        /// The provisioner of the class, which cannot provision for the node.
        provisioner: Option<Arc<str>>,
    },
    /// A zone or region label of a volume.
    Zone {
        /// The volume.
        volume: Arc<str>,
        /// The label.
        key: &'static str,
        /// The zones or regions it may be used in.
        wanted: Vec<Arc<str>>,
        /// The node's.
        value: Option<Arc<str>>,
    },
    /// The node has no zone or region label, which lets every volume pass.
    NodeWithoutZone,
    /// No volume of the pod has a zone or region label.
    VolumesWithoutZone,
    /// Disks of one in-tree kind against their limit.
    InTreeLimit {
        /// The disks of the pods on the node.
        attached: Vec<CountedVolume>,
        /// Those the pod adds.
        added: Vec<CountedVolume>,
        /// How many there may be.
        limit: i64,
    },
    /// A CSI driver counts disks of this in-tree kind in place of this plugin.
    InTreeMigrated,
    /// The pod has no disk of this in-tree kind.
    NoneOfKind,
    /// The volumes of one CSI driver against its limit.
    CsiLimit {
        /// The driver.
        driver: Arc<str>,
        /// How many are attached.
        attached: i64,
        /// Those the pod adds.
        added: Vec<CountedVolume>,
        /// How many there may be.
        limit: i64,
    },
    /// The pod adds no volume of a driver with a limit.
    NoneLimited,
}

/// A volume as limits count it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum CountedVolume {
    /// By its id or handle.
    Handle(String),
    /// By its claim (`namespace/name`): it has no id yet.
    Claim(String),
}

impl CountedVolume {
    /// A volume by its key, which begins with `mark` and ends with the claim where the volume has no id yet.
    pub(crate) fn of(key: &str, mark: &str) -> Self {
        key.strip_prefix(mark).map_or_else(|| Self::Handle(key.to_owned()), |claim| Self::Claim(claim.to_owned()))
    }
}
