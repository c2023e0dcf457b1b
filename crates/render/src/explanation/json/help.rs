//! What would make a pod that fits on no node fit, what would not, and how far the search went.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_scheduler::Explanation;

use crate::explanation::fixes;

/// Changes that make the pod fit on a node.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Remedy<'a> {
    /// The node.
    node: &'a str,
    /// What to change. For people: the words are not part of the contract.
    changes: Vec<String>,
    /// The plugins that refuse the pod until then.
    plugins: &'a [&'static str],
}

/// A refusal that no known change resolves.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BeyondHelp<'a> {
    /// The node.
    node: &'a str,
    /// The plugin that refuses the pod; absent if it is not a plugin.
    #[serde(skip_serializing_if = "str::is_empty")]
    plugin: &'a str,
    /// Why nothing helps. For people: the words are not part of the contract.
    why: String,
}

/// How far remedies were searched for.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Search<'a> {
    /// The number of nodes searched.
    nodes: usize,
    /// The number of nodes there are.
    of: usize,
    /// The nodes on which the search was cut short, so that a smaller set of changes may exist; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'a str>,
    /// Whether each was played on with the cluster's controllers, as `what-if` does; otherwise the scheduler's filters alone accept it.
    played: bool,
    /// How many changes that the filters accept are left out, because the pod found no place when they were played; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    refuted: usize,
}

/// Whether a number need not be written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The smallest changes, best first.
pub(super) fn remedies(explanation: &Explanation) -> Vec<Remedy<'_>> {
    let remedies = explanation.help.remedies.iter();
    let changes = |remedy: &ketcd_scheduler::Remedy| remedy.fixes.iter().map(|fix| fixes::fix(fix, &remedy.node)).collect();
    remedies.map(|remedy| Remedy { node: &remedy.node, changes: changes(remedy), plugins: &remedy.plugins }).collect()
}

/// The nodes no known change helps.
pub(super) fn hopeless(explanation: &Explanation) -> Vec<BeyondHelp<'_>> {
    let hopeless = explanation.help.hopeless.iter();
    let of = |hopeless: &'_ ketcd_scheduler::Hopeless| fixes::obstacles(&hopeless.obstacles);
    hopeless.map(|hopeless| BeyondHelp { node: &hopeless.node, plugin: hopeless.plugin, why: of(hopeless) }).collect()
}

/// How far the search went, if there was one.
pub(super) fn search(explanation: &Explanation) -> Option<Search<'_>> {
    let help = &explanation.help;
    let cut = help.cut.iter().map(|node| &**node).collect();
    (help.searched > 0).then_some(Search { nodes: help.searched, of: help.of, cut, played: help.is_played, refuted: help.refuted })
}
