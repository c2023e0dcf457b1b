//! What would help a pod that fits nowhere, what would not, and how far was looked.

use serde::Serialize;

use ketcd_scheduler::Explanation;

/// Changes that make a node take the pod.
#[derive(Serialize)]
pub(super) struct Remedy<'a> {
    node: &'a str,
    changes: &'a [String],
    plugins: &'a [&'static str],
}

/// What no change known here meets.
#[derive(Serialize)]
pub(super) struct Hopeless<'a> {
    node: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    plugin: &'a str,
    why: &'a str,
}

/// How far remedies were looked for.
#[derive(Serialize)]
pub(super) struct Search<'a> {
    nodes: usize,
    of: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'a str>,
}

/// The smallest changes, best first.
pub(super) fn remedies(explanation: &Explanation) -> Vec<Remedy<'_>> {
    let remedies = explanation.help.remedies.iter();
    remedies.map(|remedy| Remedy { node: &remedy.node, changes: &remedy.changes, plugins: &remedy.plugins }).collect()
}

/// The nodes no known change helps.
pub(super) fn hopeless(explanation: &Explanation) -> Vec<Hopeless<'_>> {
    let hopeless = explanation.help.hopeless.iter();
    hopeless.map(|hopeless| Hopeless { node: &hopeless.node, plugin: hopeless.plugin, why: &hopeless.why }).collect()
}

/// How far was looked, if it was.
pub(super) fn search(explanation: &Explanation) -> Option<Search<'_>> {
    let help = &explanation.help;
    let cut = help.cut.iter().map(|node| &**node).collect();
    (help.searched > 0).then_some(Search { nodes: help.searched, of: help.of, cut })
}
