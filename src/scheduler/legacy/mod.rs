//! The schedulers of 1.9 to 1.17: predicates and priorities under their own names.
//! What a framework plugin does alike is its rule under the old name; what differs has a file here.

mod classic;
mod predicates;
mod priorities;
mod reason;

use classic::{Predicate, Renamed};

use super::{Plugin, Release, plugins};

/// Every predicate and priority, in no order.
pub fn all() -> impl Iterator<Item = &'static dyn Plugin> {
    [predicates::PREDICATES, predicates::RENAMED, priorities::PRIORITIES, priorities::RENAMED].into_iter().flatten().copied()
}

/// The names under which 1.17 ran predicates as Filter plugins (`framework/plugins/default_registry.go`); GeneralPredicates became four.
const PLUGIN_NAMES: &[(&str, &str)] = &[
    ("NodeUnschedulable", "CheckNodeUnschedulable"),
    ("NodeResourcesFit", "PodFitsResources"),
    ("NodeName", "HostName"),
    ("NodePorts", "PodFitsHostPorts"),
    ("NodeAffinity", "MatchNodeSelector"),
    ("VolumeRestrictions", "NoDiskConflict"),
    ("TaintToleration", "PodToleratesNodeTaints"),
    ("EBSLimits", "MaxEBSVolumeCount"),
    ("GCEPDLimits", "MaxGCEPDVolumeCount"),
    ("NodeVolumeLimits", "MaxCSIVolumeCountPred"),
    ("AzureDiskLimits", "MaxAzureDiskVolumeCount"),
    ("CinderLimits", "MaxCinderVolumeCount"),
    ("VolumeBinding", "CheckVolumeBinding"),
    ("VolumeZone", "NoVolumeZoneConflict"),
    ("PodTopologySpread", "EvenPodsSpread"),
    ("InterPodAffinity", "MatchInterPodAffinity"),
];

/// The rule behind a Filter plugin of a release: in 1.17 a predicate, else none of these.
pub fn rule_behind(plugin: &'static str, release: Release) -> Option<&'static dyn Plugin> {
    let (_, predicate) = PLUGIN_NAMES.iter().find(|(name, _)| release.0 == 17 && *name == plugin)?;
    Some(plugins::named(predicate))
}
