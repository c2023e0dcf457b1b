//! Sets of plugins at extension points, and how a file's sets are merged with the defaults.

use std::collections::BTreeSet;

use super::versions::ConfigVersion;
use crate::validation::Document;

/// An enabled plugin, with its weight if one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Enabled {
    /// Its name.
    pub name: String,
    /// Its weight; 0: none given.
    pub weight: i64,
}

/// Enabled and disabled plugins of one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PluginSet {
    /// In order.
    pub enabled: Vec<Enabled>,
    /// By name; `*` is all.
    pub disabled: Vec<String>,
}

impl PluginSet {
    pub(super) fn of(plugins: impl IntoIterator<Item = (&'static str, i64)>) -> Self {
        let enabled = plugins.into_iter().map(|(name, weight)| Enabled { name: name.to_owned(), weight });
        Self { enabled: enabled.collect(), disabled: Vec::new() }
    }

    pub(super) fn read(document: &Document<'_>) -> Self {
        let enabled = document.field("enabled").elements();
        let disabled = document.field("disabled").elements();
        let plugin = |entry: &Document<'_>| Enabled {
            name: entry.field("name").text().to_owned(),
            weight: entry.field("weight").whole().unwrap_or(0),
        };
        let name = |entry: &Document<'_>| entry.field("name").text().to_owned();
        Self { enabled: enabled.iter().map(plugin).collect(), disabled: disabled.iter().map(name).collect() }
    }

    /// Whether a plugin, or every plugin, is disabled here.
    pub(super) fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled == name || disabled == "*")
    }

    /// `mergePluginSet`: merges the defaults with a file's set; disabled names are kept only where MultiPoint is still to be expanded.
    pub(super) fn merged(&self, custom: &Self, version: ConfigVersion) -> Self {
        let in_place = version.replaces_in_place();
        let mut enabled = Vec::new();
        let mut replaced = BTreeSet::new();
        for default in self.enabled.iter().filter(|default| !custom.disables(&default.name)) {
            // If two entries have the same name, the last one wins, as in upstream's map.
            match custom.enabled.iter().rposition(|plugin| plugin.name == default.name).filter(|_| in_place) {
                Some(at) => {
                    replaced.insert(at);
                    enabled.push(custom.enabled[at].clone());
                }
                None => enabled.push(default.clone()),
            }
        }
        enabled.extend(custom.enabled.iter().enumerate().filter(|(at, _)| !replaced.contains(at)).map(|(_, plugin)| plugin.clone()));
        let disabled = if version.has_multi_point() { custom.disabled.clone() } else { Vec::new() };
        Self { enabled, disabled }
    }
}
