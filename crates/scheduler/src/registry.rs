//! Every plugin, predicate and priority by name.

use crate::Plugin;
use crate::legacy;
use crate::plugins::{FRAMEWORK_PLUGINS, pending};

/// All plugins: those of the framework, then predicates and priorities of before.
pub fn all() -> impl Iterator<Item = &'static dyn Plugin> {
    FRAMEWORK_PLUGINS.iter().copied().chain(legacy::all())
}

/// Returns the plugin of that name; one that is not implemented yet returns `Verdict::Unknown`.
pub fn named(name: &'static str) -> &'static dyn Plugin {
    find(name).unwrap_or(&pending::Pending)
}

/// Returns the plugin, predicate or priority of that name, upper or lower case.
pub fn find(name: &str) -> Option<&'static dyn Plugin> {
    all().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
}

/// Returns the plugin on whose page that name is documented: two plugins of 1.17 to 1.22 were a predicate and a priority before.
pub fn page(name: &str) -> Option<&'static dyn Plugin> {
    find(name).or_else(|| match name.to_ascii_lowercase().as_str() {
        "serviceaffinity" => find("CheckServiceAffinity"),
        "noderesourcelimits" => find("ResourceLimitsPriority"),
        _ => None,
    })
}
