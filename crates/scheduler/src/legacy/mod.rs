//! The schedulers of 1.9 to 1.17: predicates and priorities under their own names.
//! What a framework plugin does alike is its rule under the old name; what differs has a file here.

mod predicates;
mod priorities;
mod reason;
mod renamed;

pub(crate) use predicates::PolicyPredicate;
pub(crate) use priorities::{CapacityRatio, NodeLabel, RequestedToCapacityRatioPriority, ServiceAntiAffinity};

use renamed::{Predicate, Renamed};

use super::{Plugin, Release};
use crate::release::{PolicyRules, runs_predicates_as_plugins};

/// Every predicate and priority, in no order.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Plugin> {
    [
        predicates::OWN_PREDICATES,
        predicates::RENAMED_PREDICATES,
        predicates::POLICY_PREDICATES,
        priorities::OWN_PRIORITIES,
        priorities::RENAMED_PRIORITIES,
    ]
    .into_iter()
    .flatten()
    .copied()
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

/// The predicate behind a Filter plugin, where the release has predicates behind them.
pub(crate) fn predicate_behind(plugin: &'static str, release: Release) -> Option<&'static str> {
    let (_, predicate) = PLUGIN_NAMES.iter().find(|(name, _)| *name == plugin)?;
    runs_predicates_as_plugins(release).then_some(predicate)
}

/// The Filter plugins that a predicate became: GeneralPredicates four, others one.
pub(crate) fn plugins_of(predicate: &'static str) -> Vec<&'static str> {
    if predicate == "GeneralPredicates" {
        return vec!["NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"];
    }
    let renamed = PLUGIN_NAMES.iter().find(|(_, name)| *name == predicate).map(|(plugin, _)| *plugin);
    vec![renamed.unwrap_or(predicate)]
}

/// The Score plugins that priorities became, SelectorSpreadPriority aside.
const SCORE_PLUGIN_NAMES: &[(&str, &str)] = &[
    ("InterPodAffinityPriority", "InterPodAffinity"),
    ("LeastRequestedPriority", "NodeResourcesLeastAllocated"),
    ("MostRequestedPriority", "NodeResourcesMostAllocated"),
    ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation"),
    ("NodePreferAvoidPodsPriority", "NodePreferAvoidPods"),
    ("NodeAffinityPriority", "NodeAffinity"),
    ("TaintTolerationPriority", "TaintToleration"),
    ("ImageLocalityPriority", "ImageLocality"),
    ("EvenPodsSpreadPriority", "PodTopologySpread"),
    ("RequestedToCapacityRatioPriority", "RequestedToCapacityRatio"),
    ("ServiceAffinity", "ServiceAffinity"),
    ("NodeLabel", "NodeLabel"),
    ("RequestedToCapacityRatio", "RequestedToCapacityRatio"),
];

/// The Score plugin that a priority became, by that release's name.
pub(crate) fn score_plugin_of(priority: &str, release: Release) -> Option<&'static str> {
    if priority == "SelectorSpreadPriority" {
        return Some(PolicyRules::of(release).selector_spread_plugin());
    }
    SCORE_PLUGIN_NAMES.iter().find(|(name, _)| *name == priority).map(|(_, plugin)| *plugin)
}
