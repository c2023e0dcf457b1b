//! What differs between releases in the volumes of pods: which claims may get them, where they can be reached, and which ones CSI drivers took over.
//! Upstream: `plugins/volumebinding/binder.go` (up to 1.22 `pkg/controller/volume/scheduling/scheduler_binder.go`),
//! `component-helpers/storage/volume/pv_helpers.go`, `k8s.io/csi-translation-lib/plugins`.

use crate::{Gates, Release};

#[derive(Clone, Copy, Debug)]
pub(crate) struct VolumeRules {
    minor: u16,
}

/// In-tree plugins that CSI drivers take over behind a gate of their own, each with the first release whose code no longer reads the CSINode's
/// annotation (`plugins/nodevolumelimits/utils.go`).
const MIGRATION_GATES: [(&str, &str, u16); 6] = [
    ("kubernetes.io/aws-ebs", "CSIMigrationAWS", 27),
    ("kubernetes.io/gce-pd", "CSIMigrationGCE", 28),
    ("kubernetes.io/azure-disk", "CSIMigrationAzureDisk", 27),
    ("kubernetes.io/cinder", "CSIMigrationOpenStack", 24),
    ("kubernetes.io/portworx-volume", "CSIMigrationPortworx", 36),
    ("kubernetes.io/rbd", "CSIMigrationRBD", 31),
];

impl VolumeRules {
    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }

    /// Why the claim of an ephemeral volume is not the pod's (`component-helpers/storage/ephemeral/ephemeral.go` VolumeIsForPod).
    pub(crate) fn claim_of_other_pod(self, namespace: &str, claim: &str, pod: &str) -> String {
        match self.minor {
            ..=22 => format!("persistentvolumeclaim \"{claim}\" was not created for the pod"),
            _ => format!("PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"),
        }
    }

    /// Whether volumes of an in-tree plugin are translated: those of Ceph came with 1.23 and were removed in 1.31.
    pub(crate) fn translates(self, plugin: &str) -> bool {
        plugin != "kubernetes.io/rbd" || (23..=30).contains(&self.minor)
    }

    /// Whether in-tree volumes count as their driver's (`plugins/nodevolumelimits/utils.go` isCSIMigrationOn, since 1.16), by the gates of their
    /// plugin and, as long as it is read, the CSINode's annotation.
    pub(crate) fn counts_as_migrated(self, plugin: &str, gates: &Gates, annotated: impl FnOnce() -> bool) -> bool {
        let Some((_, _, without_annotation)) = MIGRATION_GATES.iter().find(|(name, ..)| *name == plugin) else { return false };
        self.minor >= 16 && self.migration_gates_on(plugin, gates) && (self.minor >= *without_annotation || annotated())
    }

    /// Whether VolumeBinding reaches in-tree volumes as their driver's where gates and annotation say so (`binder.go` tryTranslatePVToCSI, since
    /// 1.17).
    pub(crate) fn binds_as_migrated(self, plugin: &str, gates: &Gates) -> bool {
        self.minor >= 17 && self.migration_gates_on(plugin, gates)
    }

    fn migration_gates_on(self, plugin: &str, gates: &Gates) -> bool {
        // 1.23 spells it so.
        let named = |gate| if gate == "CSIMigrationRBD" && self.minor == 23 { "csiMigrationRBD" } else { gate };
        let gate = MIGRATION_GATES.iter().find(|(name, ..)| *name == plugin);
        gates.on("CSIMigration") && gate.is_some_and(|(_, gate, _)| gates.on(named(gate)))
    }
}

rules_of! {
    VolumeRules, self, minor = self.minor;

    /// The reason why a bound volume cannot be reached (`binder.go` ErrReasonNodeConflict).
    node_conflict: &'static str = match minor {
        ..=32 => "node(s) had volume node affinity conflict",
        _ => "node(s) didn't match PersistentVolume's node affinity",
    };
    /// The reason for a claim whose volume does not exist (`binder.go` ErrReasonPVNotExist).
    missing_volume: &'static str = match minor {
        ..=22 => "pvc(s) bound to non-existent pv(s)",
        _ => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    };
    /// Whether the node a claim is to be provisioned for is read from its annotation (`binder.go` FindPodVolumes, since 1.14). Up to 1.13 such claims
    /// are no longer unbound, or that node is not known.
    reads_selected_node: bool = minor >= 14;
    /// Whether a claim gets volumes of the class in its spec, none of which has another class that its annotation names (`scheduler_binder.go`
    /// findMatchingVolumes, 1.10–1.15).
    lists_volumes_by_class_of_spec: bool = (10..=15).contains(&minor);
    /// Whether a capacity's `maximumVolumeSize` counts (`binder.go` hasEnoughCapacity, since 1.21).
    reads_maximum_volume_size: bool = minor >= 21;
    /// Whether a volume's spec has node affinity (`pkg/volume/util/util.go` CheckNodeAffinity, since 1.10).
    reads_spec_affinity: bool = minor >= 10;
    /// Whether a volume's alpha annotation has node affinity (the same place, up to 1.11).
    reads_annotated_affinity: bool = minor <= 11;
    /// Whether VolumeAttributesClasses are known (`pv_helpers.go` FindMatchingVolume, since 1.31).
    knows_attributes_classes: bool = minor >= 31;
    /// Whether a free volume must be in the phase Available (`pv_helpers.go` FindMatchingVolume, since 1.13).
    wants_available_phase: bool = minor >= 13;
    /// Whether the zone labels without `beta` are translated (`in_tree_volume.go`, `gce_pd.go`, since 1.21). Up to 1.20 only the beta labels were,
    /// and the volume's own label replaced all its node affinity.
    translates_zone_labels: bool = minor >= 21;
    /// Whether the driver supports only managed Azure disks (`azure_disk.go`, checked for PersistentVolumes since 1.22).
    checks_azure_kind: bool = minor >= 22;
}
