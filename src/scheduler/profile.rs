//! Which plugins a scheduler runs, in which order, with which weights: one table for every release, each row with its source.

use std::fmt;
use std::ops::RangeInclusive;

use super::{Arguments, Gates, Plugin, Release, Rules, plugins};

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
    pub prefilter_order: &'static [&'static str],
    /// Scores, in order.
    pub scores: Vec<ScoreEntry>,
    /// How far filters go.
    pub filter_mode: FilterMode,
    /// Arguments.
    pub arguments: Arguments,
    /// `percentageOfNodesToScore`; `None`: upstream's default for the release.
    pub percentage_of_nodes_to_score: Option<i64>,
    /// Whether preemption is part of it.
    pub preempts: bool,
    /// Plugins and extenders it names that are not in-tree, and what else cannot be verified: each a caveat.
    pub unverifiable: Vec<String>,
}

type Row<T> = (RangeInclusive<u16>, &'static [T], &'static str);

/// Filters by release, in the order they run.
#[rustfmt::skip]
const FILTERS: &[Row<&str>] = &[
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
];

/// The order of PreFilter where it is not that of the filters.
const PREFILTERS: &[Row<&str>] = &[(
    18..=22,
    &["NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity", "VolumeBinding", "NodeAffinity"],
    "algorithmprovider/registry.go (1.18–1.21), apis/config/v1beta2/default_plugins.go (1.22)",
)];

/// Scores by release, in the order they run, with weights.
#[rustfmt::skip]
const SCORES: &[Row<(&str, i64)>] = &[
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
        35..=36,
        &[
            ("TaintToleration", 3), ("NodeAffinity", 2), ("NodeResourcesFit", 1), ("VolumeBinding", 1), ("PodTopologySpread", 2), ("InterPodAffinity", 2),
            ("DynamicResources", 2), ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1),
        ],
        "pkg/scheduler/apis/config/v1/default_plugins.go",
    ),
];

/// Plugins that take part only while a gate is on: the plugin, the gate.
const GATED: &[(&str, &str)] = &[("DynamicResources", "DynamicResourceAllocation"), ("NodeDeclaredFeatures", "NodeDeclaredFeatures")];

fn row<T>(table: &'static [Row<T>], release: Release) -> &'static [T] {
    table.iter().find(|(minors, ..)| minors.contains(&release.0)).map_or(&[], |(_, row, _)| row)
}

impl Profile {
    /// The profile `default-scheduler` of a release without any configuration, under `gates`. Releases newer than any known are judged by the newest.
    pub fn new(release: Release, gates: Gates) -> Self {
        let release = release.known();
        let rules = Rules::new(release, &gates);
        let enabled = |name: &str| GATED.iter().all(|(plugin, gate)| *plugin != name || gates.on(gate));
        let filters = row(FILTERS, release)
            .iter()
            .filter(|name| enabled(name))
            .map(|name| FilterEntry { name, plugin: plugins::named(name) })
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
            prefilter_order: row(PREFILTERS, release),
            scores,
            filter_mode: match release.0 {
                ..=9 => FilterMode::All,
                17 => FilterMode::FirstReason,
                _ => FilterMode::FirstRefusal,
            },
            arguments: Arguments::new(rules.spread_system_defaults),
            percentage_of_nodes_to_score: None,
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

    #[test]
    fn each_release_has_one_row_in_each_table() {
        for minor in 18..=Release::NEWEST.0 {
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
}
