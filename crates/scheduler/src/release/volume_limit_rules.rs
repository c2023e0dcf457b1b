//! What differs between releases in how many volumes a node may have attached. Upstream: `plugins/nodevolumelimits/{csi,non_csi,utils}.go`, up to
//! 1.17 `algorithm/predicates/{csi_volume_predicate,predicates}.go`.

use super::rules::Rules;

/// The effect of a claim that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingClaim {
    /// It is ignored.
    PassedOver,
    /// The attempt ends with an error.
    Fails,
    /// The node is rejected.
    Refuses,
}

impl Rules {
    /// Whether generic ephemeral volumes count (since 1.23).
    pub(crate) fn limits_count_ephemeral_volumes(&self) -> bool {
        self.release.0 >= 23
    }

    /// The effect of a missing claim of the pod (filterAttachableVolumes, filterVolumes).
    pub(crate) fn missing_claim_of_limits(&self) -> MissingClaim {
        match self.release.0 {
            ..=22 => MissingClaim::PassedOver,
            23..=29 => MissingClaim::Fails,
            _ => MissingClaim::Refuses,
        }
    }

    /// Whether a claim that is missing, unbound or without its volume counts as a disk of every in-tree kind (`predicates.go` filterVolumes, up to
    /// 1.15); since 1.16 an unbound one counts where its class provisions such disks.
    pub(crate) fn unknown_disks_count_for_all(&self) -> bool {
        self.release.0 <= 15
    }

    /// The node labels that name an Amazon instance's type (`predicates.go` since 1.11, the one without `beta` since 1.17).
    pub(crate) fn instance_type_labels(&self) -> &'static [&'static str] {
        const INSTANCE_TYPE_LABELS: [&str; 2] = ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"];
        match self.release.0 {
            ..=10 => &[],
            11..=16 => &INSTANCE_TYPE_LABELS[..1],
            _ => &INSTANCE_TYPE_LABELS,
        }
    }

    /// Whether r5, t3 and z1d are known to be of Amazon's Nitro system (`volume/util/attach_limit.go` EBSNitroLimitRegex, since 1.12); in 1.11 c5 and m5.
    pub(crate) fn knows_newer_nitro_types(&self) -> bool {
        self.release.0 >= 12
    }

    /// Whether inline disks that a driver took over count as the driver's (`csi.go` checkAttachableInlineVolume, since 1.25).
    pub(crate) fn migrated_inline_disks_count(&self) -> bool {
        self.release.0 >= 25
    }

    /// Whether a node's allocatable names limits of drivers (`csi.go` getVolumeLimits, up to 1.31).
    pub(crate) fn node_publishes_volume_limits(&self) -> bool {
        self.release.0 <= 31
    }

    /// Whether a CSINode names limits of drivers (the same place, since 1.16).
    pub(crate) fn csi_node_publishes_volume_limits(&self) -> bool {
        self.release.0 >= 16
    }

    /// Whether every driver that has a CSIDriver must be on the node (`csi.go`, gate VolumeLimitScaling, 1.35); since 1.36 those whose CSIDriver
    /// requires it.
    pub(crate) fn every_csi_driver_must_be_on_node(&self) -> bool {
        self.release.0 <= 35
    }

    /// Whether volumes of two drivers with one handle are one volume (`csi_volume_predicate.go`, up to 1.15).
    pub(crate) fn drivers_share_volume_handles(&self) -> bool {
        self.release.0 <= 15
    }

    /// Whether an unbound claim counts for the driver that would provision it (`csi_volume_predicate.go` getCSIDriverInfoFromSC, since 1.15).
    pub(crate) fn unbound_claims_count_for_driver(&self) -> bool {
        self.release.0 >= 15
    }

    /// Whether the class of an unbound claim is that of its spec, whatever its annotation is (the same place, 1.15).
    pub(crate) fn limits_ignore_class_annotation(&self) -> bool {
        self.release.0 <= 15
    }

    /// Whether volumes count that are attached although no pod on the node uses them (`csi.go` getNodeVolumeAttachmentInfo, since 1.32).
    pub(crate) fn volume_attachments_count(&self) -> bool {
        self.release.0 >= 32
    }
}
