//! Which plugins a scheduler runs, in which order, with which weights: one table for every release, each row with its source.

use std::fmt;
use std::ops::RangeInclusive;

use super::{Arguments, Gates, Plugin, Release, Rules, judged_as, legacy, plugins};

/// A plugin in a profile's list of filters.
#[derive(Clone, Copy)]
pub struct FilterEntry {
    /// The name that release gives it.
    pub name: &'static str,
    /// The rule.
    pub plugin: &'static dyn Plugin,
}

/// A plugin in a profile's list of scores.
#[derive(Clone, Copy)]
pub struct ScoreEntry {
    /// The name that release gives it.
    pub name: &'static str,
    /// The rule.
    pub plugin: &'static dyn Plugin,
    /// What its normalised score is multiplied by.
    pub weight: i64,
}

impl fmt::Debug for FilterEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for ScoreEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.name, self.weight)
    }
}

/// How far a node is looked at, and what is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterMode {
    /// Every predicate runs, in no order; all reasons count (1.9, and `alwaysCheckAllPredicates`).
    All,
    /// It stops at the first that refuses; all reasons of that one count.
    FirstRefusal,
    /// It stops at the first that refuses, and each gives one reason (1.17).
    FirstReason,
}

/// A scheduler: its release, its plugins and what they are told.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The `spec.schedulerName` it answers to.
    pub scheduler_name: String,
    /// Its release.
    pub release: Release,
    /// Its feature gates.
    pub gates: Gates,
    /// The switches of its release.
    pub rules: Rules,
    /// Filters, in order.
    pub filters: Vec<FilterEntry>,
    /// Names of the filters in the order their PreFilter runs, where that differs from `filters`; the others follow.
    pub prefilter_order: Vec<&'static str>,
    /// Plugins whose PreFilter runs though they are no filters (a configuration may say so).
    pub prefilters_only: Vec<FilterEntry>,
    /// Filters that a configuration runs without their PreFilter, where it is known what they then do.
    pub without_prefilter: Vec<&'static str>,
    /// Scores, in order.
    pub scores: Vec<ScoreEntry>,
    /// Whether there is anything that may score: a plugin, in-tree or not, or an extender.
    pub scoring: bool,
    /// How far filters go.
    pub filter_mode: FilterMode,
    /// Arguments.
    pub arguments: Arguments,
    /// `percentageOfNodesToScore`; `None`: upstream's default for the release.
    pub percentage_of_nodes_to_score: Option<i64>,
    /// PostFilter plugins, in order.
    pub post_filters: Vec<&'static str>,
    /// Whether preemption is part of it.
    pub preempts: bool,
    /// Plugins and extenders it names that are not in-tree, and what else cannot be verified: each a caveat.
    pub unverifiable: Vec<String>,
}

type Row<T> = (RangeInclusive<u16>, &'static [T], &'static str);

/// Filters by release, in the order they run; 1.9 has none (its names are sorted here).
#[rustfmt::skip]
const FILTERS: &[Row<&str>] = &[
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

/// The order of PreFilter where it is not that of the filters.
const PREFILTERS: &[Row<&str>] = &[
    (18..=18, &["NodeResourcesFit", "NodePorts", "InterPodAffinity", "PodTopologySpread"], "algorithmprovider/registry.go"),
    (
        19..=22,
        &["NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity", "VolumeBinding", "NodeAffinity"],
        "algorithmprovider/registry.go (1.19–1.21), apis/config/v1beta2/default_plugins.go (1.22)",
    ),
];

/// Scores by release, in the order they run, with weights. Priorities run by name; 1.17's plugins in the order of the priorities they were.
#[rustfmt::skip]
const SCORES: &[Row<(&str, i64)>] = &[
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

/// When a row's plugin takes part: in which releases, and while which gate is on (or off).
struct Condition {
    plugin: &'static str,
    minors: RangeInclusive<u16>,
    gate: &'static str,
    on: bool,
}

const fn only(plugin: &'static str, minors: RangeInclusive<u16>, gate: &'static str, on: bool) -> Condition {
    Condition { plugin, minors, gate, on }
}

/// Plugins that take part only while a gate is on or off, or in some of their row's releases; sources as for the rows.
const CONDITIONS: &[Condition] = &[
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
    only("DynamicResources", 26..=u16::MAX, "DynamicResourceAllocation", true),
    only("NodeDeclaredFeatures", 35..=u16::MAX, "NodeDeclaredFeatures", true),
    only("DeferredPodScheduling", 37..=u16::MAX, "InPlacePodVerticalScalingSchedulerPreemption", true),
];

/// Whether a plugin of a row takes part in a release under its gates: where it has conditions, one of them must hold.
fn takes_part(plugin: &str, release: Release, gates: &Gates) -> bool {
    let mut conditions = CONDITIONS.iter().filter(|condition| condition.plugin == plugin).peekable();
    conditions.peek().is_none()
        || conditions.any(|condition| {
            condition.minors.contains(&release.0) && (condition.gate.is_empty() || gates.on(condition.gate) == condition.on)
        })
}

fn row<T>(table: &'static [Row<T>], release: Release) -> &'static [T] {
    table.iter().find(|(minors, ..)| minors.contains(&release.0)).map_or(&[], |(_, row, _)| row)
}

impl Profile {
    /// The profile `default-scheduler` of a release without any configuration, under `gates`. Releases newer than any known are judged by the newest.
    pub fn new(release: Release, gates: Gates) -> Self {
        let release = judged_as(release);
        let rules = Rules::new(release, &gates);
        let enabled = |name: &str| takes_part(name, release, &gates);
        let filters = row(FILTERS, release)
            .iter()
            .filter(|name| enabled(name))
            .map(|name| FilterEntry { name, plugin: legacy::rule_behind(name, release).unwrap_or_else(|| plugins::named(name)) })
            .collect();
        let scores = row(SCORES, release)
            .iter()
            .filter(|(name, _)| enabled(name))
            .map(|(name, weight)| ScoreEntry { name, plugin: plugins::named(name), weight: *weight })
            .collect();
        Self {
            scheduler_name: "default-scheduler".to_owned(),
            release,
            filters,
            prefilter_order: row(PREFILTERS, release).to_vec(),
            prefilters_only: Vec::new(),
            without_prefilter: Vec::new(),
            scores,
            scoring: true,
            filter_mode: match release.0 {
                ..=9 => FilterMode::All,
                17 => FilterMode::FirstReason,
                _ if rules.all_filters_run => FilterMode::All,
                _ => FilterMode::FirstRefusal,
            },
            arguments: Arguments::new(rules.spread_system_defaults, gates.on("StorageCapacityScoring")),
            percentage_of_nodes_to_score: None,
            post_filters: rules.dra.then_some("DynamicResources").into_iter().chain(["DefaultPreemption"]).collect(),
            preempts: release.0 >= 11 || gates.on("PodPriority"),
            unverifiable: Vec::new(),
            gates,
            rules,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{NEWEST_SCHEDULER, OLDEST_SCHEDULER};

    #[test]
    fn each_release_has_one_row_in_each_table() {
        for minor in OLDEST_SCHEDULER.0..=NEWEST_SCHEDULER.0 {
            assert_eq!(FILTERS.iter().filter(|(minors, ..)| minors.contains(&minor)).count(), 1, "filters of 1.{minor}");
            assert_eq!(SCORES.iter().filter(|(minors, ..)| minors.contains(&minor)).count(), 1, "scores of 1.{minor}");
        }
    }

    #[test]
    fn gates_add_and_remove_plugins() {
        let names = |release: u16, gates: &str| {
            let release = Release(release);
            let profile = Profile::new(release, Gates::new(release).parse(gates).unwrap());
            profile.filters.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert!(!names(33, "").contains(&"DynamicResources"));
        assert!(names(33, "DynamicResourceAllocation=true").contains(&"DynamicResources"));
        assert!(names(34, "").contains(&"DynamicResources"));
        assert!(!names(36, "NodeDeclaredFeatures=false").contains(&"NodeDeclaredFeatures"));
    }

    /// The default predicates of each release, as the gates leave them.
    #[test]
    fn predicates_came_and_went() {
        let names = |release: u16, gates: &str| {
            let release = Release(release);
            let profile = Profile::new(release, Gates::new(release).parse(gates).unwrap());
            profile.filters.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        let conditions = ["CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure"];
        assert_eq!(names(9, "").len(), 12);
        assert_eq!(names(10, "").first(), Some(&"CheckNodeCondition"));
        assert!(!names(10, "").contains(&"CheckNodePIDPressure"));
        assert!(conditions.iter().all(|name| names(11, "").contains(name)));
        assert!(!names(11, "").contains(&"MaxCSIVolumeCountPred"));
        for release in 12..=16 {
            assert!(conditions.iter().all(|name| !names(release, "").contains(name)), "1.{release}");
            assert_eq!(names(release, "").len(), 11, "1.{release}");
            assert!(conditions.iter().all(|name| names(release, "TaintNodesByCondition=false").contains(name)), "1.{release}");
        }
        assert!(names(16, "EvenPodsSpread=true").ends_with(&["EvenPodsSpread", "MatchInterPodAffinity"]));
        assert_eq!(names(17, "").len(), 14);
        assert!(names(17, "EvenPodsSpread=true").contains(&"PodTopologySpread"));
    }

    #[test]
    fn images_score_from_1_12_on_and_limits_behind_their_gate() {
        let names = |release: u16, gates: &str| {
            let release = Release(release);
            let profile = Profile::new(release, Gates::new(release).parse(gates).unwrap());
            profile.scores.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(names(11, "").len(), 7);
        assert_eq!(names(12, "").len(), 8);
        assert_eq!(names(17, "").len(), 8);
        assert!(!names(12, "ResourceLimitsPriorityFunction=true").contains(&"ResourceLimitsPriority"));
        assert!(names(13, "ResourceLimitsPriorityFunction=true").contains(&"ResourceLimitsPriority"));
    }
}
