//! From sets to lists: which plugins run at a point, in which order. Upstream: `NewFramework`, `expandMultiPointPlugins`.

use crate::scheduler::Release;

use super::defaults::{Plugins, extends, is_known};
use super::plugin_set::{Enabled, PluginSet, Point};

/// The plugins of a point: those of the tree, in order, with their weights (1 where none or 0 is given; upstream takes negative ones as they are).
pub fn expand(plugins: &Plugins, point: Point, release: Release) -> Result<Vec<Enabled>, String> {
    let none = PluginSet::default();
    let own = plugins.get(&point).unwrap_or(&none);
    let many = plugins.get(&Point::MultiPoint).unwrap_or(&none);
    let mut seen: Vec<&str> = Vec::new();
    for plugin in &own.enabled {
        if is_known(&plugin.name, release) && !extends(&plugin.name, point, release) {
            return Err(format!("plugin {:?} does not extend {} plugin", plugin.name, point.interface()));
        }
        if seen.contains(&plugin.name.as_str()) {
            return Err(format!("plugin {:?} already registered as {:?}", plugin.name, point.interface()));
        }
        seen.push(&plugin.name);
    }
    let expanded: Vec<&Enabled> = if own.disabled.iter().any(|name| name == "*") {
        own.enabled.iter().collect()
    } else {
        let joins = |plugin: &&Enabled| extends(&plugin.name, point, release) && !own.disables(&plugin.name);
        let mut from_many: Vec<&Enabled> = Vec::new();
        for plugin in many.enabled.iter().filter(joins).filter(|plugin| !own.enables(&plugin.name)) {
            if from_many.iter().any(|known| known.name == plugin.name) {
                return Err(format!("plugin {:?} already registered as {:?}", plugin.name, point.interface()));
            }
            from_many.push(plugin);
        }
        // First what is configured in both places, then what only MultiPoint names, then the rest of the point's own.
        let overrides =
            |plugin: &&Enabled| many.enables(&plugin.name) && extends(&plugin.name, point, release) && !own.disables(&plugin.name);
        let first = own.enabled.iter().filter(overrides);
        let rest = own.enabled.iter().filter(|plugin| !overrides(plugin));
        first.chain(from_many).chain(rest).collect()
    };
    let known = expanded.into_iter().filter(|plugin| is_known(&plugin.name, release));
    Ok(known.map(|plugin| Enabled { name: plugin.name.clone(), weight: if plugin.weight == 0 { 1 } else { plugin.weight } }).collect())
}

/// The names that no plugin of the tree has, wherever they are enabled.
pub fn foreign(plugins: &Plugins, release: Release) -> Vec<String> {
    let mut names: Vec<String> = plugins.values().flat_map(|set| &set.enabled).map(|plugin| plugin.name.clone()).collect();
    names.retain(|name| !is_known(name, release));
    names.sort_unstable();
    names.dedup();
    names
}
