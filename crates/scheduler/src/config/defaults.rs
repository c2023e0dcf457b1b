//! The plugins that each version of the API enables by default.
//! Sources: `algorithmprovider/registry.go` (1.18–1.21), `apis/config/{v1beta1,v1beta2,v1beta3,v1}/default_plugins.go`.

use std::collections::BTreeMap;

use crate::release::{ConfigRules, Point, added_scores, extends, is_in_tree};
use crate::{Gates, Profile, Release};

use super::plugin_set::{Enabled, PluginSet};
use super::versions::ConfigVersion;

pub(super) type Plugins = BTreeMap<Point, PluginSet>;

/// The defaults of a version of the API in a release.
pub(super) fn plugins(version: ConfigVersion, release: Release, gates: &Gates) -> Plugins {
    let profile = Profile::new(release, gates.clone());
    if version.has_multi_point() { BTreeMap::from([(Point::MultiPoint, multi_point(&profile))]) } else { by_point(version, &profile) }
}

/// One list for all points, since v1beta3.
fn multi_point(profile: &Profile) -> PluginSet {
    let weight = |name: &str| profile.scores.iter().find(|entry| entry.name == name).map_or(0, |entry| entry.weight);
    let rules = ConfigRules::of(profile.release);
    let gates = profile.gates.on("PodSchedulingReadiness") && is_in_tree("SchedulingGates", profile.release);
    let mut list: Vec<&'static str> = Vec::new();
    list.extend((gates && rules.scheduling_gates_first()).then_some("SchedulingGates"));
    list.push("PrioritySort");
    list.extend(profile.filters.iter().map(|entry| entry.name));
    list.extend(profile.gates.on(rules.gang_scheduling_gate()).then_some("GangScheduling"));
    let by_topology = profile.gates.on("TopologyAwareWorkloadScheduling");
    list.extend(by_topology.then_some(["TopologyPlacementGenerator", "PodGroupPodsCount"]).into_iter().flatten());
    list.extend(["DefaultPreemption", "NodeResourcesBalancedAllocation", "ImageLocality", "DefaultBinder"]);
    list.extend((gates && !rules.scheduling_gates_first()).then_some("SchedulingGates"));
    let mut set = PluginSet::of(list.into_iter().map(|name| (name, weight(name))));
    let added = added_scores(profile.release, &profile.gates);
    set.enabled.extend(added.map(|(name, weight)| Enabled { name: (*name).to_owned(), weight: *weight }));
    set
}

/// A list for each point, up to v1beta2.
fn by_point(version: ConfigVersion, profile: &Profile) -> Plugins {
    let release = profile.release;
    let filters: Vec<&'static str> = profile.filters.iter().map(|entry| entry.name).filter(|name| *name != "DynamicResources").collect();
    let scores: Vec<(&'static str, i64)> = match version {
        // In v1beta1 other plugins still score what NodeResourcesFit scores since v1beta2.
        ConfigVersion::V1Beta1 if extends("NodeResourcesFit", Point::Score, release) => vec![
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
            ("InterPodAffinity", 1),
            ("NodeResourcesLeastAllocated", 1),
            ("NodeAffinity", 1),
            ("NodePreferAvoidPods", 10000),
            ("PodTopologySpread", 2),
            ("TaintToleration", 1),
        ],
        ConfigVersion::V1Beta2 => vec![
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
    if is_in_tree("SelectorSpread", release)
        && !profile.gates.on("DefaultPodTopologySpread")
        && !scores.iter().any(|(name, _)| *name == "SelectorSpread")
    {
        scores.push(("SelectorSpread", 1));
    }
    let plain = |names: &[&'static str]| PluginSet::of(names.iter().map(|name| (*name, 0)));
    let listed = ConfigRules::of(release).v1beta2_prefilters().unwrap_or(&profile.prefilter_order);
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
    let gates = profile.gates.on("PodSchedulingReadiness").then_some((Point::PreEnqueue, "SchedulingGates"));
    let more = [(Point::PostFilter, "DefaultPreemption"), (Point::Reserve, "VolumeBinding"), (Point::PreBind, "VolumeBinding")];
    let more = more.into_iter().chain(gates).filter(|(point, name)| extends(name, *point, release));
    sets.extend(more.map(|(point, name)| (point, plain(&[name]))));
    sets
}
