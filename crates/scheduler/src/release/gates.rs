//! Feature gates: each release's defaults, and those the user says the scheduler was started with; also the patch of the release.
//! Source of the defaults: `pkg/features/kube_features.go` of each release.

use std::collections::BTreeMap;

use crate::Release;

/// A gate that changes how pods are scheduled: its default from each minor release on.
struct Gate {
    name: &'static str,
    /// `(minor, on)`, ascending; before the first the gate does not exist and the feature is off.
    defaults: &'static [(u16, bool)],
}

macro_rules! gates {
    ($($name:ident: $($minor:literal $state:ident),+;)*) => {
        &[$(Gate { name: stringify!($name), defaults: &[$(($minor, gates!(@ $state))),+] }),*]
    };
    (@ on) => { true };
    (@ off) => { false };
}

const KNOWN_GATES: &[Gate] = gates! {
    PodPriority: 8 off, 11 on;
    TaintNodesByCondition: 8 off, 12 on;
    TaintBasedEvictions: 6 off, 13 on;
    VolumeScheduling: 9 off, 10 on;
    BlockVolume: 9 off, 13 on;
    DynamicProvisioningScheduling: 11 off, 12 on;
    AttachVolumeLimit: 11 off, 12 on;
    LocalStorageCapacityIsolation: 7 off, 10 on;
    ResourceLimitsPriorityFunction: 9 off;
    BalanceAttachedNodeVolumes: 11 off;
    EvenPodsSpread: 16 off, 18 on;
    PodOverhead: 16 off, 18 on;
    NonPreemptingPriority: 15 off, 19 on;
    DefaultPodTopologySpread: 19 off, 20 on;
    PodAffinityNamespaceSelector: 21 off, 22 on;
    PreferNominatedNode: 21 off, 22 on;
    ReadWriteOncePod: 22 off, 27 on;
    CSIStorageCapacity: 19 off, 21 on;
    VolumeCapacityPriority: 21 off;
    CSIMigration: 14 off, 17 on;
    CSIMigrationAWS: 14 off, 23 on;
    CSIMigrationGCE: 14 off, 23 on;
    CSIMigrationAzureDisk: 15 off, 23 on;
    CSIMigrationOpenStack: 14 off, 21 on;
    CSIMigrationPortworx: 23 off, 31 on;
    csiMigrationRBD: 23 off;
    CSIMigrationRBD: 24 off;
    GenericEphemeralVolume: 19 off, 21 on;
    MinDomainsInPodTopologySpread: 24 off, 27 on;
    NodeInclusionPolicyInPodTopologySpread: 25 off, 26 on;
    MatchLabelKeysInPodTopologySpread: 25 off, 27 on;
    MatchLabelKeysInPodTopologySpreadSelectorMerge: 34 on;
    MatchLabelKeysInPodAffinity: 29 off, 31 on;
    InterPodAffinityHostnameFastPath: 37 off;
    PodSchedulingReadiness: 26 off, 27 on;
    PodDisruptionConditions: 25 off, 26 on;
    SidecarContainers: 28 off, 29 on;
    InPlacePodVerticalScaling: 27 off, 33 on;
    PodLevelResources: 32 off, 34 on;
    InPlacePodLevelResourcesVerticalScaling: 35 off, 36 on;
    InPlacePodVerticalScalingSchedulerPreemption: 37 off;
    DRAControlPlaneController: 31 off;
    DynamicResourceAllocation: 26 off, 34 on;
    DRAExtendedResource: 34 off, 36 on;
    DRAPrioritizedList: 33 off, 34 on;
    DRAAdminAccess: 32 off, 34 on;
    DRAPartitionableDevices: 33 off, 36 on;
    DRADeviceTaints: 33 off, 36 on;
    DRADeviceTaintRules: 35 off, 37 on;
    DRAConsumableCapacity: 34 off, 36 on;
    DRADeviceBindingConditions: 34 off, 36 on;
    DRASchedulerFilterTimeout: 34 on;
    DRAResourceClaimDeviceStatus: 32 off, 33 on;
    DRAListTypeAttributes: 36 off;
    DRANodeAllocatableResources: 36 off;
    DRAWorkloadResourceClaims: 36 off;
    DRADerivedAttributes: 37 off;
    DRADeviceCompatibilityGroups: 37 off;
    DRAFractionalCapacityRange: 37 off;
    DRAOptionalNodeOperations: 37 off;
    NodeDeclaredFeatures: 35 off, 36 on;
    OpportunisticBatching: 35 on;
    TaintTolerationComparisonOperators: 35 off;
    GangScheduling: 35 off;
    GenericWorkload: 35 off;
    CompositePodGroup: 37 off;
    PodGroupPreemptionPolicy: 37 off;
    TopologyAwareWorkloadScheduling: 36 off;
    WorkloadAwarePreemption: 36 off;
    SchedulerAsyncPreemption: 32 off, 33 on;
    SchedulerQueueingHints: 28 off, 32 on;
    NominatedNodeNameForExpectation: 34 off, 35 on;
    ClearingNominatedNodeNameAfterBinding: 34 off, 35 on;
    SchedulerAsyncAPICalls: 34 off;
    VolumeLimitScaling: 35 off, 37 on;
    MutableCSINodeAllocatableCount: 33 off, 35 on;
    StorageCapacityScoring: 33 off, 37 on;
    VolumeAttributesClass: 29 off, 34 on;
};

/// The gates of one scheduler, and which patch of its release it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    release: Release,
    patch: Option<u16>,
    set: BTreeMap<String, bool>,
}

impl Gates {
    /// The defaults of a release, by its newest patch.
    pub fn new(release: Release) -> Self {
        Self { release, patch: None, set: BTreeMap::new() }
    }

    /// Sets the patch of the release, where it is known.
    #[must_use]
    pub fn at_patch(mut self, patch: Option<u16>) -> Self {
        self.patch = patch;
        self
    }

    /// The patch of the release; where it is not known, a number beyond all patches: the newest is assumed.
    pub fn patch(&self) -> u16 {
        self.patch.unwrap_or(u16::MAX)
    }

    /// Sets gates from the text of `--feature-gates`: `A=true,B=false`; `AllAlpha` and `AllBeta` are refused, as this crate does not know which gates
    /// they mean.
    pub fn parse(mut self, text: &str) -> Result<Self, String> {
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("feature gate \"{part}\" has no value: write {part}=true or {part}=false"))?;
            let on = match value.trim().to_ascii_lowercase().as_str() {
                "true" | "t" | "1" => true,
                "false" | "f" | "0" => false,
                other => return Err(format!("feature gate {name} is \"{other}\": write true or false")),
            };
            if matches!(name.trim(), "AllAlpha" | "AllBeta") {
                return Err(format!("{name} stands for many gates: name those that matter for scheduling one by one"));
            }
            self.set.insert(name.trim().to_owned(), on);
        }
        Ok(self)
    }

    /// The release of the gates.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The gates that the user set.
    pub fn given(&self) -> impl Iterator<Item = (&str, bool)> {
        self.set.iter().map(|(name, on)| (name.as_str(), *on))
    }

    /// Sets one gate.
    #[must_use]
    pub fn with(mut self, name: &str, on: bool) -> Self {
        self.set.insert(name.to_owned(), on);
        self
    }

    /// Whether a gate is on.
    pub fn on(&self, name: &str) -> bool {
        if let Some(on) = self.set.get(name) {
            return *on;
        }
        let gate = KNOWN_GATES.iter().find(|gate| gate.name == name);
        debug_assert!(gate.is_some(), "{name} is in no table");
        let defaults = gate.map_or(&[][..], |gate| gate.defaults);
        defaults.iter().rev().find(|(minor, _)| *minor <= self.release.0).is_some_and(|(_, on)| *on)
    }

    /// The gates the user set that no rule known here reads.
    pub fn without_effect(&self) -> impl Iterator<Item = &str> {
        self.set.keys().map(String::as_str).filter(|name| KNOWN_GATES.iter().all(|gate| gate.name != *name))
    }
}

#[cfg(test)]
mod tests {
    use super::{Gates, KNOWN_GATES, Release};

    #[test]
    fn defaults_follow_the_release() {
        for (minor, on) in [(25, false), (26, false), (27, true), (36, true)] {
            assert_eq!(Gates::new(Release(minor)).on("MinDomainsInPodTopologySpread"), on, "1.{minor}");
        }
        assert!(!Gates::new(Release(30)).on("SchedulerQueueingHints"));
    }

    #[test]
    fn the_users_value_overrides_the_default() {
        let gates = Gates::new(Release(30)).parse("DynamicResourceAllocation=true, Other=false").unwrap();
        assert!(gates.on("DynamicResourceAllocation"));
        assert_eq!(gates.without_effect().collect::<Vec<_>>(), ["Other"]);
        assert!(Gates::new(Release(30)).parse("A").is_err());
        assert!(Gates::new(Release(30)).parse("A=perhaps").is_err());
    }

    #[test]
    fn each_gate_has_one_row_with_ascending_releases() {
        for (row, gate) in KNOWN_GATES.iter().enumerate() {
            assert!(KNOWN_GATES[row + 1..].iter().all(|other| other.name != gate.name), "{} twice", gate.name);
            assert!(gate.defaults.windows(2).all(|pair| pair[0].0 < pair[1].0), "{}", gate.name);
        }
    }
}
