//! What differs between releases in the volumes of pods: which claims may get them, where they can be reached, and which ones CSI drivers took over.
//! Upstream: `plugins/volumebinding/binder.go` (up to 1.22 `pkg/controller/volume/scheduling/scheduler_binder.go`),
//! `component-helpers/storage/volume/pv_helpers.go`, `k8s.io/csi-translation-lib/plugins`.

use crate::{Gates, Release};

/// The rules for volumes of one release.
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
    /// The rules of a release.
    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }

    /// The reason why a bound volume cannot be reached (`binder.go` ErrReasonNodeConflict).
    pub(crate) fn node_conflict(self) -> &'static str {
        if self.minor >= 33 { "node(s) didn't match PersistentVolume's node affinity" } else { "node(s) had volume node affinity conflict" }
    }

    /// The reason for a claim whose volume does not exist (`binder.go` ErrReasonPVNotExist).
    pub(crate) fn missing_volume(self) -> &'static str {
        match self.minor {
            ..=22 => "pvc(s) bound to non-existent pv(s)",
            _ => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        }
    }

    /// Why the claim of an ephemeral volume is not the pod's (`component-helpers/storage/ephemeral/ephemeral.go` VolumeIsForPod).
    pub(crate) fn claim_of_other_pod(self, namespace: &str, claim: &str, pod: &str) -> String {
        match self.minor {
            ..=22 => format!("persistentvolumeclaim \"{claim}\" was not created for the pod"),
            _ => format!("PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"),
        }
    }

    /// Whether the node a claim is to be provisioned for is read from its annotation (`binder.go` FindPodVolumes, since 1.14). Up to 1.13 such claims
    /// are no longer unbound, or that node is not known.
    pub(crate) fn reads_selected_node(self) -> bool {
        self.minor >= 14
    }

    /// Whether a claim gets volumes of the class in its spec, none of which has another class that its annotation names (`scheduler_binder.go`
    /// findMatchingVolumes, 1.10–1.15).
    pub(crate) fn lists_volumes_by_class_of_spec(self) -> bool {
        (10..=15).contains(&self.minor)
    }

    /// Whether a capacity's `maximumVolumeSize` counts (`binder.go` hasEnoughCapacity, since 1.21).
    pub(crate) fn reads_maximum_volume_size(self) -> bool {
        self.minor >= 21
    }

    /// Whether a volume's spec has node affinity (`pkg/volume/util/util.go` CheckNodeAffinity, since 1.10).
    pub(crate) fn reads_spec_affinity(self) -> bool {
        self.minor >= 10
    }

    /// Whether a volume's alpha annotation has node affinity (the same place, up to 1.11).
    pub(crate) fn reads_annotated_affinity(self) -> bool {
        self.minor <= 11
    }

    /// Whether VolumeAttributesClasses are known (`pv_helpers.go` FindMatchingVolume, since 1.31).
    pub(crate) fn knows_attributes_classes(self) -> bool {
        self.minor >= 31
    }

    /// Whether a free volume must be in the phase Available (`pv_helpers.go` FindMatchingVolume, since 1.13).
    pub(crate) fn wants_available_phase(self) -> bool {
        self.minor >= 13
    }

    /// Whether volumes of an in-tree plugin are translated: those of Ceph came with 1.23 and were removed in 1.31.
    pub(crate) fn translates(self, plugin: &str) -> bool {
        plugin != "kubernetes.io/rbd" || (23..=30).contains(&self.minor)
    }

    /// Whether the zone labels without `beta` are translated (`in_tree_volume.go`, `gce_pd.go`, since 1.21). Up to 1.20 only the beta labels were,
    /// and the volume's own label replaced all its node affinity.
    pub(crate) fn translates_zone_labels(self) -> bool {
        self.minor >= 21
    }

    /// Whether the driver supports only managed Azure disks (`azure_disk.go`, checked for PersistentVolumes since 1.22).
    pub(crate) fn checks_azure_kind(self) -> bool {
        self.minor >= 22
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
