//! What differs between releases in how many volumes a node may have attached. Upstream: `plugins/nodevolumelimits/{csi,non_csi,utils}.go`, up to
//! 1.17 `algorithm/predicates/{csi_volume_predicate,predicates}.go`.

use super::rules::Rules;

/// The effect of a claim that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingClaim {
    PassedOver,
    /// The attempt ends with an error.
    Fails,
    /// The node is rejected.
    Refuses,
}

impl Rules {
    /// The node labels that name an Amazon instance's type (`predicates.go` since 1.11, the one without `beta` since 1.17).
    pub(crate) fn instance_type_labels(&self) -> &'static [&'static str] {
        const INSTANCE_TYPE_LABELS: [&str; 2] = ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"];
        match self.release.0 {
            ..=10 => &[],
            11..=16 => &INSTANCE_TYPE_LABELS[..1],
            _ => &INSTANCE_TYPE_LABELS,
        }
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// Whether generic ephemeral volumes count (since 1.23).
    limits_count_ephemeral_volumes: bool = minor >= 23;
    /// The effect of a missing claim of the pod (filterAttachableVolumes, filterVolumes).
    missing_claim_of_limits: MissingClaim = match minor {
        ..=22 => MissingClaim::PassedOver,
        23..=29 => MissingClaim::Fails,
        _ => MissingClaim::Refuses,
    };
    /// Whether a claim that is missing, unbound or without its volume counts as a disk of every in-tree kind (`predicates.go` filterVolumes, up to
    /// 1.15); since 1.16 an unbound one counts where its class provisions such disks.
    unknown_disks_count_for_all: bool = minor <= 15;
    /// Whether r5, t3 and z1d are known to be of Amazon's Nitro system (`volume/util/attach_limit.go` EBSNitroLimitRegex, since 1.12); in 1.11 c5 and m5.
    knows_newer_nitro_types: bool = minor >= 12;
    /// Whether inline disks that a driver took over count as the driver's (`csi.go` checkAttachableInlineVolume, since 1.25).
    migrated_inline_disks_count: bool = minor >= 25;
    /// Whether a node's allocatable names limits of drivers (`csi.go` getVolumeLimits, up to 1.31).
    node_publishes_volume_limits: bool = minor <= 31;
    /// Whether a CSINode names limits of drivers (the same place, since 1.16).
    csi_node_publishes_volume_limits: bool = minor >= 16;
    /// Whether every driver that has a CSIDriver must be on the node (`csi.go`, gate VolumeLimitScaling, 1.35); since 1.36 those whose CSIDriver
    /// requires it.
    every_csi_driver_must_be_on_node: bool = minor <= 35;
    /// Whether volumes of two drivers with one handle are one volume (`csi_volume_predicate.go`, up to 1.15).
    drivers_share_volume_handles: bool = minor <= 15;
    /// Whether an unbound claim counts for the driver that would provision it (`csi_volume_predicate.go` getCSIDriverInfoFromSC, since 1.15).
    unbound_claims_count_for_driver: bool = minor >= 15;
    /// Whether the class of an unbound claim is that of its spec, whatever its annotation is (the same place, 1.15).
    limits_ignore_class_annotation: bool = minor <= 15;
    /// Whether volumes count that are attached although no pod on the node uses them (`csi.go` getNodeVolumeAttachmentInfo, since 1.32).
    volume_attachments_count: bool = minor >= 32;
}
