//! Turns plugin sets into lists: the plugins of each extension point with their order and weights, or the reason that the scheduler does not start.
//! Upstream: `framework/runtime/framework.go` NewFramework, updatePluginList, expandMultiPointPlugins, getScoreWeights.

use std::collections::BTreeMap;

use crate::release::{ConfigRules, MultiPointOrder, Point, extends, is_in_tree, was_in_tree};
use crate::{Release, Rules};

use super::defaults::Plugins;
use super::plugin_set::{Enabled, PluginSet};

/// The points in the order upstream fills them.
const POINT_ORDER: [Point; 16] = [
    Point::PreFilter,
    Point::Filter,
    Point::PostFilter,
    Point::Reserve,
    Point::PreScore,
    Point::Score,
    Point::PreBind,
    Point::Bind,
    Point::PostBind,
    Point::Permit,
    Point::PreEnqueue,
    Point::QueueSort,
    Point::PlacementGenerate,
    Point::PlacementScore,
    Point::PodGroupPostFilter,
    Point::Unreserve,
];

/// The largest score of a node.
const MAX_SCORE: i64 = 100;

/// The in-tree plugins of every point, in order, scores with their weights.
#[derive(Debug, Default)]
pub(super) struct Framework {
    points: BTreeMap<Point, Vec<Enabled>>,
    /// Scores that run twice, because of a bug in expandMultiPointPlugins.
    pub twice: Vec<String>,
}

impl Framework {
    /// Makes the lists from a profile's sets.
    pub(super) fn new(plugins: &Plugins, rules: &Rules) -> Result<Self, String> {
        let release = rules.release;
        let mut made = Self::default();
        let config = ConfigRules::of(release);
        if config.checks_weights() && check_weights(plugins, release).is_none() {
            return Err("the weights of its score plugins are too large: their sum could overflow".to_owned());
        }
        for point in POINT_ORDER {
            made.points.insert(point, update(plugins, point, release)?);
        }
        for point in POINT_ORDER {
            let expanded = expand(plugins, point, rules)?;
            made.put(point, expanded, release);
        }
        let outsiders = !foreign(plugins, release).is_empty();
        let (sort, bind) = (made.at(Point::QueueSort).len(), made.at(Point::Bind).len());
        // An out-of-tree plugin may sort or bind.
        match outsiders {
            false if config.counts_queue_sort() && sort != 1 => {
                Err(format!("exactly one plugin must sort the queue (queueSort), not {sort}"))
            }
            false if bind == 0 => Err("no plugin binds pods (bind)".to_owned()),
            _ => Ok(made),
        }
    }

    pub(super) fn at(&self, point: Point) -> &[Enabled] {
        self.points.get(&point).map_or(&[], Vec::as_slice)
    }

    pub(super) fn runs(&self, name: &str, point: Point) -> bool {
        self.at(point).iter().any(|plugin| plugin.name == name)
    }

    fn put(&mut self, point: Point, plugins: Vec<Enabled>, release: Release) {
        let mut kept: Vec<Enabled> = Vec::new();
        for plugin in plugins.into_iter().filter(|plugin| is_in_tree(&plugin.name, release)) {
            if !kept.iter().any(|known| known.name == plugin.name) {
                kept.push(plugin);
            } else if point == Point::Score {
                self.twice.push(plugin.name);
            }
        }
        self.points.insert(point, kept);
    }
}

/// A point's own set: each plugin must exist, extend the point and be enabled once.
fn update(plugins: &Plugins, point: Point, release: Release) -> Result<Vec<Enabled>, String> {
    let mut seen: Vec<Enabled> = Vec::new();
    for plugin in plugins.get(&point).iter().flat_map(|set| &set.enabled) {
        let (name, field) = (&plugin.name, point.name());
        exists(name, field, release)?;
        if is_in_tree(name, release) && !extends(name, point, release) {
            return Err(format!("plugin {name:?} cannot be enabled at {field}"));
        }
        if seen.iter().any(|known| known.name == *name) {
            return Err(format!("plugin {name:?} is enabled twice at {field}"));
        }
        seen.push(plugin.clone());
    }
    Ok(seen)
}

/// A plugin that is in-tree only in other releases, or has no name, cannot be an out-of-tree one.
fn exists(name: &str, field: &str, release: Release) -> Result<(), String> {
    let gone = was_in_tree(name) && !is_in_tree(name, release);
    if gone || matches!(name, "" | "*") { Err(format!("this release has no plugin {name:?}, which is enabled at {field}")) } else { Ok(()) }
}

fn expand(plugins: &Plugins, point: Point, rules: &Rules) -> Result<Vec<Enabled>, String> {
    let release = rules.release;
    let none = PluginSet::default();
    let own = plugins.get(&point).unwrap_or(&none);
    let many = plugins.get(&Point::MultiPoint).unwrap_or(&none);
    let weighed = |name: &str| Enabled { name: name.to_owned(), weight: weight(name, point, plugins, release) };
    let own_names: Vec<&str> = own.enabled.iter().map(|plugin| plugin.name.as_str()).collect();
    if many.enabled.is_empty() || own.disabled.iter().any(|name| name == "*") {
        return Ok(own_names.into_iter().map(weighed).collect());
    }
    let (mut from_many, mut overrides): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for plugin in &many.enabled {
        let name = plugin.name.as_str();
        exists(name, point.name(), release)?;
        if !extends(name, point, release) || own.disables(name) {
            continue;
        }
        if own_names.contains(&name) {
            overrides.push(name);
        } else if from_many.contains(&name) {
            return Err(format!("plugin {name:?} is enabled twice at {}", point.name()));
        } else {
            from_many.push(name);
        }
    }
    // First plugins configured in both places, then those only in MultiPoint, then the rest of the point's own.
    let (first, rest) = match rules.multi_point {
        MultiPointOrder::Last => (own_names, Vec::new()),
        MultiPointOrder::OverridesInPlace => parted_in_place(own_names, &overrides),
        MultiPointOrder::Overrides => parted(&own_names, &overrides),
    };
    Ok(first.into_iter().chain(from_many).chain(rest).map(weighed).collect())
}

fn parted<'n>(names: &[&'n str], overrides: &[&str]) -> (Vec<&'n str>, Vec<&'n str>) {
    names.iter().partition(|name| overrides.contains(name))
}

/// Like `parted`, but as [`MultiPointOrder::OverridesInPlace`] does it: names are removed from the list during iteration: a name that moves to a
/// position already visited is skipped, and the last one is visited again.
fn parted_in_place<'n>(names: Vec<&'n str>, overrides: &[&str]) -> (Vec<&'n str>, Vec<&'n str>) {
    let count = names.len();
    let (mut slots, mut first, mut taken) = (names.clone(), Vec::new(), Vec::<&str>::new());
    for at in 0..count {
        let name = slots[at];
        if !overrides.contains(&name) {
            continue;
        }
        first.push(name);
        if taken.contains(&name) {
            continue;
        }
        let place = names.iter().position(|known| *known == name).unwrap_or(at).saturating_sub(taken.len());
        let live = count - taken.len();
        slots.copy_within(place + 1..live, place);
        taken.push(name);
    }
    slots.truncate(count - taken.len());
    (first, slots)
}

/// A plugin's weight at a point: of its score point (that of placements has its own), else of MultiPoint; or of the last point it is enabled at. Zero
/// means 1.
fn weight(name: &str, point: Point, plugins: &Plugins, release: Release) -> i64 {
    let own = if point == Point::PlacementScore { point } else { Point::Score };
    let of = |point: &Point| plugins.get(point)?.enabled.iter().rfind(|plugin| plugin.name == name).map(|plugin| plugin.weight);
    let last = ConfigRules::of(release).last_point_weighs();
    let found = if last { POINT_ORDER.iter().rev().find_map(of) } else { [own, Point::MultiPoint].iter().find_map(of) };
    found.filter(|weight| *weight != 0).unwrap_or(1)
}

/// `None` where upstream finds the weights too large: below zero, the remainder wraps around.
fn check_weights(plugins: &Plugins, release: Release) -> Option<()> {
    let scores_alone = ConfigRules::of(release).sums_weights_of_scores_alone();
    let mut total: i64 = 0;
    let mut seen: Vec<&str> = Vec::new();
    for plugin in [Point::Score, Point::MultiPoint].iter().filter_map(|point| plugins.get(point)).flat_map(|set| &set.enabled) {
        if seen.contains(&plugin.name.as_str()) || scores_alone && !extends(&plugin.name, Point::Score, release) {
            continue;
        }
        seen.push(&plugin.name);
        let score = if plugin.weight == 0 { 1 } else { plugin.weight } * MAX_SCORE;
        if score > i64::MAX.wrapping_sub(total) {
            return None;
        }
        total += score;
    }
    Some(())
}

/// The names of plugins to be created, at any point.
pub(super) fn needed(plugins: &Plugins) -> impl Iterator<Item = &str> {
    plugins.values().flat_map(|set| &set.enabled).map(|plugin| plugin.name.as_str())
}

/// The names of enabled plugins that are not in-tree.
pub(super) fn foreign(plugins: &Plugins, release: Release) -> Vec<String> {
    let mut names: Vec<String> = needed(plugins).filter(|name| !is_in_tree(name, release)).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::{parted, parted_in_place};

    #[test]
    fn names_removed_during_iteration_are_skipped_or_repeated() {
        assert_eq!(parted(&["a", "b", "c"], &["a", "b"]), (vec!["a", "b"], vec!["c"]));
        assert_eq!(parted_in_place(vec!["a", "b"], &["a", "b"]), (vec!["a", "b"], vec![]));
        assert_eq!(parted_in_place(vec!["a", "x", "b"], &["a", "b"]), (vec!["a", "b", "b"], vec!["x"]));
    }
}
