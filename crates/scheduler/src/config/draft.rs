//! A profile as the file has it, completed by the defaults, before it is validated and made.

use std::collections::BTreeSet;

use serde_json::Value;

use super::context::Context;
use super::defaults::{self, Plugins};
use super::framework::needed;
use super::plugin_set::PluginSet;
use super::schema;
use super::versions::ConfigVersion;
use crate::release::Point;
use crate::validation::Document;

/// Arguments of a plugin: their place in the file, the plugin's name, the arguments as if they were a file of their own.
pub(super) type Configured<'d> = (Document<'d>, &'d str, Document<'d>);

pub(super) struct Draft<'d> {
    /// Its place in the file.
    pub place: Document<'d>,
    /// Its scheduler's name.
    pub name: String,
    /// Its sets of plugins, merged with the defaults.
    pub plugins: Plugins,
    /// Its own sets only.
    pub custom: Plugins,
    /// Arguments, in order.
    pub arguments: Vec<Configured<'d>>,
}

impl<'d> Draft<'d> {
    /// The profiles of a file; where it has none, the default one.
    pub(super) fn all(document: &Document<'d>, context: &Context<'_>) -> Vec<Self> {
        if context.version == ConfigVersion::V1Alpha1 {
            return vec![Self::read(document.clone(), true, context)];
        }
        let listed = document.field("profiles").elements();
        let alone = listed.len() == 1;
        if listed.is_empty() {
            vec![Self::read(document.field("profiles"), true, context)]
        } else {
            listed.into_iter().map(|entry| Self::read(entry, alone, context)).collect()
        }
    }

    fn read(place: Document<'d>, alone: bool, context: &Context<'_>) -> Self {
        let name = place.field("schedulerName");
        let defaulted = alone && (name.is_absent() || context.version == ConfigVersion::V1Alpha1 && name.text().is_empty());
        let custom = sets(&place.field("plugins"), context);
        let arguments = place.field("pluginConfig").elements().into_iter();
        let configured = |entry: Document<'d>| {
            let (name, args) = (entry.field("name").text(), Document::new(entry.field("args").value()));
            (entry, name, args)
        };
        let plugins = merged(&custom, context);
        let mut arguments: Vec<Configured<'d>> = arguments.map(configured).collect();
        arguments.extend(ratio_without_shape(&place, &plugins, &arguments, context));
        Self { name: if defaulted { "default-scheduler".to_owned() } else { name.text().to_owned() }, plugins, custom, arguments, place }
    }

    pub(super) fn arguments_of(&self, plugin: &str) -> Option<&Document<'d>> {
        self.arguments.iter().find(|(_, name, _)| *name == plugin).map(|(.., args)| args)
    }
}

static NULL_VALUE: Value = Value::Null;

/// The only plugin whose arguments cannot be omitted. Omitted arguments follow the others, by name (`v1beta1/defaults.go`).
fn ratio_without_shape<'d>(
    place: &Document<'d>,
    plugins: &Plugins,
    given: &[Configured<'d>],
    context: &Context<'_>,
) -> Option<Configured<'d>> {
    const RATIO_STRATEGY: &str = "RequestedToCapacityRatio";
    let has = |name: &str| given.iter().any(|(_, known, _)| *known == name);
    if context.version > ConfigVersion::V1Beta1 || has(RATIO_STRATEGY) || !needed(plugins).any(|name| name == RATIO_STRATEGY) {
        return None;
    }
    let takes_arguments = |name: &&str| *name < RATIO_STRATEGY && !has(name) && schema::is_args(&format!("{name}Args"), context);
    let before: BTreeSet<&str> = needed(plugins).filter(takes_arguments).collect();
    let entry = place.field("pluginConfig").absent_element(given.len() + before.len());
    Some((entry, RATIO_STRATEGY, Document::new(&NULL_VALUE)))
}

/// The sets of the points that the version has and upstream reads.
fn sets(document: &Document<'_>, context: &Context<'_>) -> Plugins {
    let mut sets = Plugins::new();
    for (point, field) in Point::ALL {
        let overlooked = match point {
            // v1beta2 has MultiPoint and PreEnqueue, but does not merge them (`v1beta2/default_plugins.go` mergePlugins); v1beta3 does not merge
            // PreEnqueue.
            Point::MultiPoint => !context.version.has_multi_point(),
            Point::PreEnqueue => context.version < ConfigVersion::V1,
            _ => false,
        };
        let set = document.field(field);
        if set.is_absent() || overlooked {
            continue;
        }
        // In v1alpha1 PreScore was called PostFilter.
        let renamed = point == Point::PostFilter && context.version == ConfigVersion::V1Alpha1;
        sets.insert(if renamed { Point::PreScore } else { point }, PluginSet::read(&set));
    }
    sets
}

fn merged(custom: &Plugins, context: &Context<'_>) -> Plugins {
    let mut merged = defaults::plugins(context.version, context.release, context.gates);
    for (point, set) in custom {
        let set = merged.entry(*point).or_default().merged(set, context.version);
        merged.insert(*point, set);
    }
    merged
}
