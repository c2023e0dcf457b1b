//! What differs between releases in the plugins that look at a pod's volumes: VolumeZone, VolumeRestrictions and VolumeBinding, up to 1.17 their
//! predicates. Upstream: `plugins/{volumezone,volumerestrictions,volumebinding}`, up to 1.17 `algorithm/predicates/predicates.go`.

use crate::Gates;

use super::rules::Rules;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolumeScore {
    /// Nothing.
    None,
    /// The utilization of the volumes that would be bound.
    Utilization,
    /// The same; where none would be bound, the utilization of the storage capacities.
    Capacity,
}

impl Rules {
    /// The error of the zone check of an unbound claim (`predicates.go` VolumeZoneChecker, up to 1.17).
    pub(crate) fn unbound_in_zone_check(&self, claim: &str) -> String {
        let verb = if self.release.0 <= 14 { "is not bound" } else { "was not found" };
        format!("PersistentVolumeClaim {verb}: \"{claim}\"")
    }

    /// The error of a claim that does not exist (`scheduler_binder.go` isPVCBound, up to 1.17), which the binder looks up in its own cache since
    /// 1.11.
    pub(crate) fn binder_misses_claim(&self, namespace: &str, name: &str) -> String {
        match self.release.0 {
            ..=10 => format!("error getting PVC \"{name}\": persistentvolumeclaim \"{name}\" not found"),
            11..=12 => format!("error getting PVC \"{name}\": could not find v1.PersistentVolumeClaim \"{namespace}/{name}\""),
            _ => format!("error getting PVC \"{namespace}/{name}\": could not find v1.PersistentVolumeClaim \"{namespace}/{name}\""),
        }
    }

    /// What VolumeBinding scores by: the gate is VolumeCapacityPriority up to 1.32, StorageCapacityScoring since 1.33 (`volume_binding.go`).
    pub(crate) fn volume_score(&self, gates: &Gates) -> VolumeScore {
        match self.release.0 {
            ..=32 if gates.on("VolumeCapacityPriority") => VolumeScore::Utilization,
            33.. if gates.on("StorageCapacityScoring") => VolumeScore::Capacity,
            _ => VolumeScore::None,
        }
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// Whether the zones of volumes are collected before any node is evaluated, and may reject or skip the pod (`volume_zone.go` PreFilter, since
    /// 1.27).
    collects_zones_before_nodes: bool = minor >= 27;
    /// Whether the zone labels without `beta` count (`volume_zone.go`, since 1.19).
    volumes_have_stable_zone_labels: bool = minor >= 19;
    /// Whether a node's label without `beta` replaces the older one that it lacks (`volume_zone.go` translateToGALabel, since 1.29).
    stable_zone_label_replaces_beta: bool = minor >= 29;
    /// Whether the zone check of an unbound claim reports only that it is unbound (`predicates.go` VolumeZoneChecker, up to 1.17); since 1.18 what it
    /// lacks.
    zone_check_reports_unbound_claim: bool = minor <= 17;
    /// Whether the zone check of an unbound claim reads the class of its spec, whatever its annotation is (the same place, up to 1.10).
    zone_check_ignores_class_annotation: bool = minor <= 10;
    /// Whether a class without a binding mode counts as Immediate (`predicates.go` VolumeZoneChecker, `scheduler_binder.go` shouldDelayBinding,
    /// 1.10); in other releases it is an error.
    class_without_mode_binds_at_once: bool = minor == 10;
    /// Whether each node is checked for a ReadWriteOncePod claim that no pod uses: a nominated pod may (`volume_restrictions.go`, 1.27).
    checks_unused_read_write_once_pod: bool = minor == 27;
    /// The reason of a rejection because another pod uses a ReadWriteOncePod claim (`volume_restrictions.go` ErrReasonReadWriteOncePodConflict).
    read_write_once_pod_conflict: &'static str = match minor {
        ..=33 => "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
        _ => "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    };
    /// Whether a claim that names its volume counts as bound, whether or not the volume agrees (`scheduler_binder.go` isVolumeBound, up to 1.11).
    claims_that_name_volume_are_bound: bool = minor <= 11;
    /// The claim's annotation with the node that it is provisioned for (`scheduler_binder.go`; alpha up to 1.11).
    selected_node_annotation: &'static str = match minor {
        ..=11 => "volume.alpha.kubernetes.io/selected-node",
        _ => "volume.kubernetes.io/selected-node",
    };
    /// The error of a pod with claims that are to be bound, but not by the scheduler (`scheduler_binder.go` FindPodVolumes, up to 1.17).
    unbound_claims_error: &'static str = match minor {
        ..=10 => "pod has unbound PersistentVolumeClaims",
        _ => "pod has unbound immediate PersistentVolumeClaims",
    };
    /// Whether VolumeBinding checks all claims of a pod before it sorts them (`volume_binding.go` podHasPVCs, since 1.18). Up to 1.17 the cycle did
    /// (see [`Self::basic_checks`]).
    volume_binding_checks_claims: bool = minor >= 18;
    /// Whether claims are sorted on each node, so that their errors are each node's (`volume_binding.go` Filter, 1.18); since 1.19 in PreFilter.
    sorts_claims_by_node: bool = minor == 18;
    /// Whether a pod waits for the claims of its generic ephemeral volumes to be created (`volume_binding.go` podHasPVCs, since 1.23); before, they
    /// are reported as missing.
    awaits_ephemeral_claims: bool = minor >= 23;
    /// Whether a claim in the phase Lost rejects the pod (`volume_binding.go` podHasPVCs, since 1.23).
    lost_claims_refuse: bool = minor >= 23;
    /// Whether generic ephemeral volumes are an error without their gate (`volumebinding/binder.go` isVolumeBound, 1.21–1.22).
    unknown_ephemeral_volumes_fail: bool = (21..=22).contains(&minor);
    /// Whether PreScore skips where there is nothing to score (`volume_binding.go` PreScore, since 1.30); up to 1.29 every node gets 0.
    volume_score_skips: bool = minor >= 30;
}
