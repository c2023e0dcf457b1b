//! Which minors have a gate, and from which on its value is locked: what kube-scheduler does not start with.
//! Source: the answers of the released code of each minor from 1.18 on (`component-base/featuregate/feature_gate.go` Set).

use crate::Gates;

/// A gate's first and last minor, and the minors in which it is locked; those before 1.18 are not distinguished.
type Life = (&'static str, u16, u16, Option<(u16, u16)>);

#[rustfmt::skip]
const GATE_LIVES: &[Life] = &[
    ("TaintBasedEvictions", 18, 19, Some((18, 19))),
    ("AttachVolumeLimit", 18, 20, Some((18, 20))),
    ("LocalStorageCapacityIsolation", 18, 26, Some((25, 26))),
    ("ResourceLimitsPriorityFunction", 18, 18, None),
    ("BalanceAttachedNodeVolumes", 18, 21, None),
    ("EvenPodsSpread", 18, 20, Some((19, 20))),
    ("PodOverhead", 18, 25, Some((24, 25))),
    ("NonPreemptingPriority", 18, 25, Some((24, 25))),
    ("DefaultPodTopologySpread", 19, 25, Some((24, 25))),
    ("PodAffinityNamespaceSelector", 21, 25, Some((24, 25))),
    ("PreferNominatedNode", 21, 25, Some((24, 25))),
    ("ReadWriteOncePod", 22, 30, Some((29, 30))),
    ("CSIStorageCapacity", 19, 27, Some((24, 27))),
    ("VolumeCapacityPriority", 21, 32, None),
    ("CSIMigrationAWS", 18, 26, Some((25, 26))),
    ("CSIMigrationGCE", 18, 27, Some((25, 27))),
    ("CSIMigrationAzureDisk", 18, 26, Some((25, 26))),
    ("CSIMigrationOpenStack", 18, 25, Some((24, 25))),
    ("CSIMigrationPortworx", 23, 35, Some((33, 35))),
    ("csiMigrationRBD", 23, 23, None),
    ("CSIMigrationRBD", 24, 30, None),
    ("GenericEphemeralVolume", 19, 24, Some((23, 24))),
    ("MinDomainsInPodTopologySpread", 24, 31, Some((30, 31))),
    ("NodeInclusionPolicyInPodTopologySpread", 25, 37, Some((33, 37))),
    ("MatchLabelKeysInPodTopologySpread", 25, 37, None),
    ("MatchLabelKeysInPodTopologySpreadSelectorMerge", 34, 37, None),
    ("MatchLabelKeysInPodAffinity", 29, 37, Some((33, 37))),
    ("InterPodAffinityHostnameFastPath", 37, 37, None),
    ("PodSchedulingReadiness", 26, 37, Some((30, 37))),
    ("PodDisruptionConditions", 25, 33, Some((31, 33))),
    ("SidecarContainers", 28, 36, Some((33, 36))),
    ("InPlacePodVerticalScaling", 27, 37, Some((35, 37))),
    ("PodLevelResources", 32, 37, None),
    ("InPlacePodLevelResourcesVerticalScaling", 35, 37, None),
    ("InPlacePodVerticalScalingSchedulerPreemption", 37, 37, None),
    ("DynamicResourceAllocation", 26, 37, Some((35, 37))),
    ("DRAExtendedResource", 34, 37, Some((37, 37))),
    ("DRAPrioritizedList", 33, 37, None),
    ("DRAAdminAccess", 32, 37, Some((36, 37))),
    ("DRAPartitionableDevices", 33, 37, None),
    ("DRADeviceTaints", 33, 37, Some((37, 37))),
    ("DRADeviceTaintRules", 35, 37, Some((37, 37))),
    ("DRAConsumableCapacity", 34, 37, None),
    ("DRADeviceBindingConditions", 34, 37, None),
    ("DRASchedulerFilterTimeout", 34, 37, None),
    ("DRAResourceClaimDeviceStatus", 32, 37, Some((37, 37))),
    ("DRAListTypeAttributes", 36, 37, None),
    ("DRANodeAllocatableResources", 36, 37, None),
    ("DRAWorkloadResourceClaims", 36, 37, None),
    ("DRADerivedAttributes", 37, 37, None),
    ("DRADeviceCompatibilityGroups", 37, 37, None),
    ("DRAFractionalCapacityRange", 37, 37, None),
    ("DRAOptionalNodeOperations", 37, 37, None),
    ("NodeDeclaredFeatures", 35, 37, Some((37, 37))),
    ("OpportunisticBatching", 35, 37, None),
    ("TaintTolerationComparisonOperators", 35, 37, None),
    ("GangScheduling", 35, 36, None),
    ("GenericWorkload", 35, 37, None),
    ("TopologyAwareWorkloadScheduling", 36, 37, None),
    ("CompositePodGroup", 37, 37, None),
    ("PodGroupPreemptionPolicy", 37, 37, None),
    ("WorkloadAwarePreemption", 36, 36, None),
    ("SchedulerAsyncPreemption", 32, 37, None),
    ("SchedulerQueueingHints", 28, 36, Some((34, 36))),
    ("NominatedNodeNameForExpectation", 34, 37, None),
    ("ClearingNominatedNodeNameAfterBinding", 34, 37, None),
    ("SchedulerAsyncAPICalls", 34, 37, None),
    ("VolumeLimitScaling", 35, 37, None),
    ("MutableCSINodeAllocatableCount", 33, 37, Some((36, 37))),
    ("StorageCapacityScoring", 33, 37, None),
    ("VolumeAttributesClass", 29, 37, Some((36, 37))),
];

/// The errors of kube-scheduler for the gates that the user set; gates that do not affect scheduling are not known here.
pub fn refusals(gates: &Gates) -> Vec<String> {
    let minor = gates.release().0;
    let known = gates.given().filter_map(|(name, on)| Some((GATE_LIVES.iter().find(|life| life.0 == name)?, on)));
    let refused = |((name, first, last, locked), on): (&Life, bool)| {
        if !(*first..=*last).contains(&minor) {
            return Some(format!("unrecognized feature gate: {name}"));
        }
        let value = Gates::new(gates.release()).on(name);
        let is_locked = locked.is_some_and(|(from, to)| (from..=to).contains(&minor)) && value != on;
        is_locked.then(|| format!("cannot set feature gate {name} to {on}, feature is locked to {value}"))
    };
    if minor < 18 { Vec::new() } else { known.filter_map(refused).collect() }
}

#[cfg(test)]
mod tests {
    use super::refusals;
    use crate::{Gates, Release};

    #[test]
    fn gates_are_refused_as_by_their_minor() {
        let of = |minor, text| refusals(&Gates::new(Release(minor)).parse(text).unwrap());
        let locked = "cannot set feature gate PodSchedulingReadiness to false, feature is locked to true";
        assert_eq!(of(30, "PodSchedulingReadiness=false"), [locked]);
        assert_eq!(of(29, "PodSchedulingReadiness=false"), Vec::<String>::new());
        assert_eq!(of(32, "MinDomainsInPodTopologySpread=true"), ["unrecognized feature gate: MinDomainsInPodTopologySpread"]);
        assert_eq!(of(36, "PodSchedulingReadiness=true,Other=true"), Vec::<String>::new());
    }
}
