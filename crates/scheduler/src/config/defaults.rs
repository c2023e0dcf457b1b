//! The plugins each version of the API enables by itself, and what each plugin takes part in.
//! Sources: `algorithmprovider/registry.go` (1.18–1.21), `apis/config/{v1beta1,v1beta2,v1beta3,v1}/default_plugins.go`.

use std::collections::BTreeMap;

use crate::{Gates, Profile, Release};

use super::ConfigVersion;
use super::plugin_set::{Enabled, PluginSet, Point};

/// One set per point.
pub(super) type Plugins = BTreeMap<Point, PluginSet>;

/// Plugins of the tree, with the points they extend and the releases that have them there.
const EXTENDS: &[(&str, &[(Point, u16, u16)])] = &[
    ("SchedulingGates", &[(Point::PreEnqueue, 26, END)]),
    ("PrioritySort", &[(Point::QueueSort, 18, END)]),
    ("NodeUnschedulable", &[(Point::PreFilter, 37, END), (Point::Filter, 18, END)]),
    ("NodeName", &[(Point::PreFilter, 37, END), (Point::Filter, 18, END)]),
    ("TaintToleration", &[(Point::PreFilter, 37, END), (Point::Filter, 18, END), (Point::PreScore, 18, END), (Point::Score, 18, END)]),
    ("NodeAffinity", &[(Point::PreFilter, 21, END), (Point::Filter, 18, END), (Point::PreScore, 21, END), (Point::Score, 18, END)]),
    ("NodePorts", &[(Point::PreFilter, 18, END), (Point::Filter, 18, END)]),
    (
        "NodeResourcesFit",
        &[
            (Point::PreFilter, 18, END),
            (Point::Filter, 18, END),
            (Point::PreScore, 27, END),
            (Point::Score, 22, END),
            (Point::PlacementScore, 36, END),
        ],
    ),
    ("TopologyPlacementGenerator", &[(Point::PlacementGenerate, 36, END)]),
    ("PodGroupPodsCount", &[(Point::PlacementScore, 36, END)]),
    ("VolumeRestrictions", &[(Point::PreFilter, 22, END), (Point::Filter, 18, END)]),
    ("EBSLimits", &[(Point::PreFilter, 28, 31), (Point::Filter, 18, 31)]),
    ("GCEPDLimits", &[(Point::PreFilter, 28, 31), (Point::Filter, 18, 31)]),
    ("AzureDiskLimits", &[(Point::PreFilter, 28, 31), (Point::Filter, 18, 31)]),
    ("CinderLimits", &[(Point::PreFilter, 28, 31), (Point::Filter, 18, 31)]),
    ("NodeVolumeLimits", &[(Point::PreFilter, 28, END), (Point::Filter, 18, END)]),
    (
        "VolumeBinding",
        &[
            (Point::PreFilter, 19, END),
            (Point::Filter, 18, END),
            (Point::PreScore, 30, END),
            (Point::Score, 21, END),
            (Point::Reserve, 19, END),
            (Point::PreBind, 19, END),
        ],
    ),
    ("VolumeZone", &[(Point::PreFilter, 27, END), (Point::Filter, 18, END)]),
    ("PodTopologySpread", &[(Point::PreFilter, 18, END), (Point::Filter, 18, END), (Point::PreScore, 18, END), (Point::Score, 18, END)]),
    ("InterPodAffinity", &[(Point::PreFilter, 18, END), (Point::Filter, 18, END), (Point::PreScore, 18, END), (Point::Score, 18, END)]),
    (
        "DynamicResources",
        &[
            (Point::PreEnqueue, 28, END),
            (Point::PreFilter, 26, END),
            (Point::Filter, 26, END),
            (Point::PostFilter, 26, END),
            (Point::PodGroupPostFilter, 37, END),
            (Point::PreScore, 26, 31),
            (Point::Score, 35, END),
            (Point::Reserve, 26, END),
            (Point::PreBind, 30, END),
            (Point::PostBind, 26, 31),
        ],
    ),
    ("DeferredPodScheduling", &[(Point::PreFilter, 37, END), (Point::Filter, 37, END), (Point::Permit, 37, END)]),
    ("NodeDeclaredFeatures", &[(Point::PreFilter, 35, END), (Point::Filter, 35, END)]),
    ("GangScheduling", &[(Point::PreEnqueue, 35, END), (Point::Reserve, 35, 35), (Point::Permit, 35, END)]),
    ("DefaultPreemption", &[(Point::PreEnqueue, 32, END), (Point::PostFilter, 19, END), (Point::PodGroupPostFilter, 37, END)]),
    ("NodeResourcesBalancedAllocation", &[(Point::PreScore, 27, END), (Point::Score, 18, END)]),
    ("ImageLocality", &[(Point::Score, 18, END)]),
    ("DefaultBinder", &[(Point::Bind, 18, END)]),
    ("NodeResourcesLeastAllocated", &[(Point::Score, 18, 22)]),
    ("NodeResourcesMostAllocated", &[(Point::Score, 18, 22)]),
    ("RequestedToCapacityRatio", &[(Point::Score, 18, 22)]),
    ("NodePreferAvoidPods", &[(Point::Score, 18, 22)]),
    ("SelectorSpread", &[(Point::PreScore, 19, 28), (Point::Score, 19, 28)]),
    ("DefaultPodTopologySpread", &[(Point::PreScore, 18, 18), (Point::Score, 18, 18)]),
    ("NodeLabel", &[(Point::Filter, 18, 22), (Point::Score, 18, 22)]),
    ("ServiceAffinity", &[(Point::PreFilter, 18, 22), (Point::Filter, 18, 22), (Point::Score, 18, 22)]),
    ("NodeResourceLimits", &[(Point::PreScore, 18, 18), (Point::Score, 18, 18)]),
];

const END: u16 = u16::MAX;

/// Whether a plugin is of the tree in that release.
pub(super) fn is_known(name: &str, release: Release) -> bool {
    extends_of(name).iter().any(|(_, first, last)| (*first..=*last).contains(&release.0))
}

/// Whether a plugin is of the tree in some release.
pub(super) fn was_known(name: &str) -> bool {
    !extends_of(name).is_empty()
}

/// Whether it takes part at a point.
pub(super) fn extends(name: &str, point: Point, release: Release) -> bool {
    extends_of(name).iter().any(|(extended, first, last)| *extended == point && (*first..=*last).contains(&release.0))
}

fn extends_of(name: &str) -> &'static [(Point, u16, u16)] {
    EXTENDS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, points)| points)
}

/// The defaults of a version of the API in a release.
pub(super) fn plugins(version: ConfigVersion, release: Release, gates: &Gates) -> Plugins {
    let profile = Profile::new(release, gates.clone());
    if version.has_multi_point() { BTreeMap::from([(Point::MultiPoint, multi_point(&profile))]) } else { by_point(version, &profile) }
}

/// One list for all points, since v1beta3.
fn multi_point(profile: &Profile) -> PluginSet {
    let weight = |name: &str| profile.scores.iter().find(|entry| entry.name == name).map_or(0, |entry| entry.weight);
    let release = profile.release.0;
    let gated = profile.gates.on("PodSchedulingReadiness");
    let mut list: Vec<&'static str> = Vec::new();
    list.extend((release >= 27 && gated).then_some("SchedulingGates"));
    list.push("PrioritySort");
    list.extend(profile.filters.iter().map(|entry| entry.name));
    // GenericWorkload took GangScheduling's place in 1.37.
    let groups = if release >= 37 { "GenericWorkload" } else { "GangScheduling" };
    list.extend(profile.gates.on(groups).then_some("GangScheduling"));
    let by_topology = profile.gates.on("TopologyAwareWorkloadScheduling");
    list.extend(by_topology.then_some(["TopologyPlacementGenerator", "PodGroupPodsCount"]).into_iter().flatten());
    list.extend(["DefaultPreemption", "NodeResourcesBalancedAllocation", "ImageLocality", "DefaultBinder"]);
    list.extend((release == 26 && gated).then_some("SchedulingGates"));
    let mut set = PluginSet::of(list.into_iter().map(|name| (name, weight(name))));
    if release == 23 && !profile.gates.on("DefaultPodTopologySpread") {
        set.enabled.push(Enabled { name: "SelectorSpread".to_owned(), weight: 1 });
    }
    set
}

/// PreFilter's plugins of v1beta2 since 1.23.
const PREFILTERS: &[&str] = &[
    "NodeResourcesFit",
    "NodePorts",
    "VolumeRestrictions",
    "PodTopologySpread",
    "InterPodAffinity",
    "VolumeBinding",
    "VolumeZone",
    "NodeAffinity",
];

/// A list for each point, up to v1beta2.
fn by_point(version: ConfigVersion, profile: &Profile) -> Plugins {
    let release = profile.release;
    let filters: Vec<&'static str> = profile.filters.iter().map(|entry| entry.name).filter(|name| *name != "DynamicResources").collect();
    let scores: Vec<(&'static str, i64)> = match (version, release.0) {
        (ConfigVersion::V1Beta1, 22) => vec![
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
            ("InterPodAffinity", 1),
            ("NodeResourcesLeastAllocated", 1),
            ("NodeAffinity", 1),
            ("NodePreferAvoidPods", 10000),
            ("PodTopologySpread", 2),
            ("TaintToleration", 1),
        ],
        (ConfigVersion::V1Beta2, _) => vec![
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
            ("InterPodAffinity", 1),
            ("NodeResourcesFit", 1),
            ("NodeAffinity", 1),
            ("PodTopologySpread", 2),
            ("TaintToleration", 1),
        ],
        _ => profile.scores.iter().map(|entry| (entry.name, entry.weight)).collect(),
    };
    let mut scores = scores;
    if profile.gates.on("VolumeCapacityPriority") && !scores.iter().any(|(name, _)| *name == "VolumeBinding") {
        scores.push(("VolumeBinding", 1));
    }
    if release.0 >= 20 && !profile.gates.on("DefaultPodTopologySpread") && !scores.iter().any(|(name, _)| *name == "SelectorSpread") {
        scores.push(("SelectorSpread", 1));
    }
    let plain = |names: &[&'static str]| PluginSet::of(names.iter().map(|name| (*name, 0)));
    let listed = if release.0 <= 22 { &profile.prefilter_order } else { PREFILTERS };
    let prefilters: Vec<&'static str> = listed.iter().copied().filter(|name| extends(name, Point::PreFilter, release)).collect();
    let prescores: Vec<&'static str> =
        scores.iter().map(|(name, _)| *name).filter(|name| extends(name, Point::PreScore, release)).collect();
    let mut sets = BTreeMap::from([
        (Point::PreScore, plain(&prescores)),
        (Point::QueueSort, plain(&["PrioritySort"])),
        (Point::PreFilter, plain(&prefilters)),
        (Point::Filter, plain(&filters)),
        (Point::Score, PluginSet::of(scores)),
        (Point::Bind, plain(&["DefaultBinder"])),
    ]);
    if release.0 >= 19 {
        sets.insert(Point::PostFilter, plain(&["DefaultPreemption"]));
        sets.insert(Point::Reserve, plain(&["VolumeBinding"]));
        sets.insert(Point::PreBind, plain(&["VolumeBinding"]));
    }
    if release.0 >= 26 && profile.gates.on("PodSchedulingReadiness") {
        sets.insert(Point::PreEnqueue, plain(&["SchedulingGates"]));
    }
    sets
}
