//! Which plugins a scheduler runs without any configuration, in which order and with which weights: one table for every release, each row with its
//! source.

use std::ops::RangeInclusive;

use crate::{Gates, Release};

/// The releases it holds for, the plugins, and the upstream file it is from.
pub(crate) type Row<T> = (RangeInclusive<u16>, &'static [T], &'static str);

/// Filters by release, in the order they run; 1.9 has no order (the names are sorted here).
#[rustfmt::skip]
pub(crate) const DEFAULT_FILTERS: &[Row<&str>] = &[
    (
        9..=9,
        &[
            "CheckNodeCondition", "CheckNodeDiskPressure", "CheckNodeMemoryPressure", "CheckVolumeBinding", "GeneralPredicates", "MatchInterPodAffinity",
            "MaxAzureDiskVolumeCount", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "NoDiskConflict", "NoVolumeZoneConflict", "PodToleratesNodeTaints",
        ],
        "plugin/pkg/scheduler/algorithmprovider/defaults/defaults.go",
    ),
    (
        10..=16,
        &[
            "CheckNodeCondition", "CheckNodeUnschedulable", "GeneralPredicates", "NoDiskConflict", "PodToleratesNodeTaints", "MaxEBSVolumeCount",
            "MaxGCEPDVolumeCount", "MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount", "CheckVolumeBinding", "NoVolumeZoneConflict",
            "CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure", "EvenPodsSpread", "MatchInterPodAffinity",
        ],
        "pkg/scheduler/algorithm/predicates/predicates.go predicatesOrdering, algorithmprovider/defaults/defaults.go",
    ),
    (
        17..=17,
        &[
            "NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions", "TaintToleration", "EBSLimits",
            "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
        ],
        "predicates.go predicatesOrdering, framework/plugins/default_registry.go",
    ),
    (
        18..=18,
        &[
            "NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions", "TaintToleration", "EBSLimits",
            "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding", "VolumeZone", "InterPodAffinity", "PodTopologySpread",
        ],
        "pkg/scheduler/algorithmprovider/registry.go",
    ),
    (
        19..=19,
        &[
            "NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions", "TaintToleration", "EBSLimits",
            "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
        ],
        "pkg/scheduler/algorithmprovider/registry.go",
    ),
    (
        20..=30,
        &[
            "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "EBSLimits",
            "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
        ],
        "algorithmprovider/registry.go (1.20–1.21), apis/config/v1beta2 (1.22), v1beta3 (1.23–1.24), v1/default_plugins.go (1.25–1.30)",
    ),
    (
        31..=36,
        &[
            "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
            "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures",
        ],
        "pkg/scheduler/apis/config/v1/default_plugins.go",
    ),
    (
        37..=37,
        &[
            "NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "DeferredPodScheduling", "NodeResourcesFit",
            "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
            "NodeDeclaredFeatures",
        ],
        "pkg/scheduler/apis/config/v1/default_plugins.go",
    ),
];

/// The order of PreFilter where it differs from that of the filters.
pub(crate) const PREFILTER_ORDER: &[Row<&str>] = &[
    (18..=18, &["NodeResourcesFit", "NodePorts", "InterPodAffinity", "PodTopologySpread"], "algorithmprovider/registry.go"),
    (
        19..=22,
        &["NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity", "VolumeBinding", "NodeAffinity"],
        "algorithmprovider/registry.go (1.19–1.21), apis/config/v1beta2/default_plugins.go (1.22)",
    ),
];

/// Scores by release, in the order they run, with weights. Priorities run by name; 1.17's plugins in the order of the priorities they were.
#[rustfmt::skip]
pub(crate) const DEFAULT_SCORES: &[Row<(&str, i64)>] = &[
    (
        9..=16,
        &[
            ("BalancedResourceAllocation", 1), ("EvenPodsSpreadPriority", 1), ("ImageLocalityPriority", 1), ("InterPodAffinityPriority", 1),
            ("LeastRequestedPriority", 1), ("NodeAffinityPriority", 1), ("NodePreferAvoidPodsPriority", 10000), ("ResourceLimitsPriority", 1),
            ("SelectorSpreadPriority", 1), ("TaintTolerationPriority", 1),
        ],
        "algorithmprovider/defaults/defaults.go, register_priorities.go",
    ),
    (
        17..=17,
        &[
            ("NodeResourcesBalancedAllocation", 1), ("PodTopologySpread", 1), ("ImageLocality", 1), ("InterPodAffinity", 1),
            ("NodeResourcesLeastAllocated", 1), ("NodeAffinity", 1), ("NodePreferAvoidPods", 10000), ("ResourceLimitsPriority", 1),
            ("DefaultPodTopologySpread", 1), ("TaintToleration", 1),
        ],
        "algorithmprovider/defaults/defaults.go, framework/plugins/default_registry.go",
    ),
    (
        18..=18,
        &[
            ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("InterPodAffinity", 1), ("NodeResourcesLeastAllocated", 1), ("NodeAffinity", 1),
            ("NodePreferAvoidPods", 10000), ("DefaultPodTopologySpread", 1), ("TaintToleration", 1), ("PodTopologySpread", 1),
        ],
        "pkg/scheduler/algorithmprovider/registry.go",
    ),
    (
        19..=19,
        &[
            ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("InterPodAffinity", 1), ("NodeResourcesLeastAllocated", 1), ("NodeAffinity", 1),
            ("NodePreferAvoidPods", 10000), ("PodTopologySpread", 2), ("TaintToleration", 1), ("SelectorSpread", 1),
        ],
        "pkg/scheduler/algorithmprovider/registry.go",
    ),
    (
        20..=21,
        &[
            ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("InterPodAffinity", 1), ("NodeResourcesLeastAllocated", 1), ("NodeAffinity", 1),
            ("NodePreferAvoidPods", 10000), ("PodTopologySpread", 2), ("TaintToleration", 1),
        ],
        "pkg/scheduler/algorithmprovider/registry.go",
    ),
    (
        22..=22,
        &[
            ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("InterPodAffinity", 1), ("NodeResourcesFit", 1), ("NodeAffinity", 1),
            ("PodTopologySpread", 2), ("TaintToleration", 1),
        ],
        "pkg/scheduler/apis/config/v1beta2/default_plugins.go",
    ),
    (
        23..=34,
        &[
            ("TaintToleration", 3), ("NodeAffinity", 2), ("NodeResourcesFit", 1), ("VolumeBinding", 1), ("PodTopologySpread", 2), ("InterPodAffinity", 2),
            ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1),
        ],
        "pkg/scheduler/apis/config/v1beta3 (1.23–1.24), v1/default_plugins.go (1.25–1.34)",
    ),
    (
        35..=37,
        &[
            ("TaintToleration", 3), ("NodeAffinity", 2), ("NodeResourcesFit", 1), ("VolumeBinding", 1), ("PodTopologySpread", 2), ("InterPodAffinity", 2),
            ("DynamicResources", 2), ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1),
        ],
        "pkg/scheduler/apis/config/v1/default_plugins.go",
    ),
];

/// When a row's plugin is enabled: in which releases, and while which gate is on (or off).
struct EnablingCondition {
    plugin: &'static str,
    minors: RangeInclusive<u16>,
    gate: &'static str,
    on: bool,
}

const fn only(plugin: &'static str, minors: RangeInclusive<u16>, gate: &'static str, on: bool) -> EnablingCondition {
    EnablingCondition { plugin, minors, gate, on }
}

/// Plugins that are enabled only while a gate is on or off, or in some of their row's releases; sources as for the rows.
const ENABLING_CONDITIONS: &[EnablingCondition] = &[
    only("CheckNodeCondition", 9..=16, "TaintNodesByCondition", false),
    only("CheckNodeMemoryPressure", 9..=10, "", true),
    only("CheckNodeDiskPressure", 9..=10, "", true),
    only("CheckNodeMemoryPressure", 11..=16, "TaintNodesByCondition", false),
    only("CheckNodeDiskPressure", 11..=16, "TaintNodesByCondition", false),
    only("CheckNodePIDPressure", 11..=16, "TaintNodesByCondition", false),
    only("CheckNodeUnschedulable", 12..=16, "TaintNodesByCondition", true),
    only("MaxCSIVolumeCountPred", 12..=16, "", true),
    only("EvenPodsSpread", 16..=16, "EvenPodsSpread", true),
    only("EvenPodsSpreadPriority", 16..=16, "EvenPodsSpread", true),
    only("PodTopologySpread", 17..=18, "EvenPodsSpread", true),
    only("PodTopologySpread", 19..=u16::MAX, "", true),
    only("ImageLocalityPriority", 12..=16, "", true),
    only("ResourceLimitsPriority", 13..=17, "ResourceLimitsPriorityFunction", true),
    only("SelectorSpread", 19..=23, "DefaultPodTopologySpread", false),
    only("DynamicResources", 26..=u16::MAX, "DynamicResourceAllocation", true),
    only("NodeDeclaredFeatures", 35..=u16::MAX, "NodeDeclaredFeatures", true),
    only("DeferredPodScheduling", 37..=u16::MAX, "InPlacePodVerticalScalingSchedulerPreemption", true),
];

/// Whether a plugin of a row is enabled in a release under its gates: where it has conditions, one of them must hold.
pub(crate) fn takes_part(plugin: &str, release: Release, gates: &Gates) -> bool {
    let mut conditions = ENABLING_CONDITIONS.iter().filter(|condition| condition.plugin == plugin).peekable();
    conditions.peek().is_none()
        || conditions.any(|condition| {
            condition.minors.contains(&release.0) && (condition.gate.is_empty() || gates.on(condition.gate) == condition.on)
        })
}

/// A score that a gate appends to those of the row: in which releases, the gate, whether it is on or off, the score with its weight.
type Added = (RangeInclusive<u16>, &'static str, bool, (&'static str, i64));

/// `algorithmprovider/registry.go`, `v1beta2/default_plugins.go`: volumes, which the rows since 1.23 have; what spread pods before constraints
/// did, which the row of 1.19 has.
const ADDED_PLUGINS: &[Added] =
    &[(21..=22, "VolumeCapacityPriority", true, ("VolumeBinding", 1)), (20..=23, "DefaultPodTopologySpread", false, ("SelectorSpread", 1))];

/// The scores that gates append to those of the row.
pub(crate) fn added_scores(release: Release, gates: &Gates) -> impl Iterator<Item = &'static (&'static str, i64)> {
    let added = ADDED_PLUGINS.iter().filter(move |(minors, gate, on, _)| minors.contains(&release.0) && gates.on(gate) == *on);
    added.map(|(.., score)| score)
}

pub(crate) fn row<T>(table: &'static [Row<T>], release: Release) -> &'static [T] {
    table.iter().find(|(minors, ..)| minors.contains(&release.0)).map_or(&[], |(_, row, _)| row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NEWEST_SCHEDULER, OLDEST_SCHEDULER};

    #[test]
    fn each_release_has_one_row_in_each_table() {
        for minor in OLDEST_SCHEDULER.0..=NEWEST_SCHEDULER.0 {
            assert_eq!(DEFAULT_FILTERS.iter().filter(|(minors, ..)| minors.contains(&minor)).count(), 1, "filters of 1.{minor}");
            assert_eq!(DEFAULT_SCORES.iter().filter(|(minors, ..)| minors.contains(&minor)).count(), 1, "scores of 1.{minor}");
        }
    }
}
