//! What would make a pod that fits no node fit: for each node the smallest set of changes, each proved by evaluating the pod on the changed state.

mod apply;
mod needs;
mod search;
#[cfg(test)]
mod tests;
mod trial;
mod volume;

use std::collections::BTreeSet;

use crate::cluster::{ClusterState, PodInfo};

use super::explanation::{Help, Hopeless, Remedy};
use super::framework::{NodeJudgement, Obstacle};
use super::{Judgement, Profile, Verdict, WholePod};

use search::RemedySearch;

/// The search stops once remedies are found on this many nodes; nodes with the lowest lower bound on the number of changes come first.
const MAX_REMEDY_NODES: usize = 48;
/// In clusters larger than this, fewer nodes are searched, each less long.
const MIN_LARGE_CLUSTER_NODES: usize = 500;
const NODES_OF_LARGE: usize = 12;

/// How many sets of changes are tried on a node, and on a node of a large cluster.
const MAX_NODE_TRIALS: usize = 600;
const TRIALS_OF_LARGE: usize = 40;

/// Returns remedies for a pod that fits no node, the best first; `only`: on this node. The state is changed on the way and as it was afterwards.
pub(crate) fn help(pod: &PodInfo, state: &mut ClusterState, profile: &Profile, judgement: &Judgement, only: Option<&str>) -> Help {
    if matches!(judgement.whole_pod, Some(WholePod::Gated { .. })) || judgement.nodes.iter().any(NodeJudgement::fits) {
        return Help::default();
    }
    let mut nodes: Vec<&NodeJudgement> = judgement.nodes.iter().filter(|node| only.is_none_or(|only| *node.name == *only)).collect();
    nodes.sort_by_key(|node| (at_least(node, judgement, profile), node.distance(), node.name.clone()));
    let (most, trials) =
        if nodes.len() > MIN_LARGE_CLUSTER_NODES { (NODES_OF_LARGE, TRIALS_OF_LARGE) } else { (MAX_REMEDY_NODES, MAX_NODE_TRIALS) };
    let mut help = Help { of: nodes.len(), ..Help::default() };
    let mut found: Vec<(usize, i64, Remedy)> = Vec::new();
    let mut left = most;
    for node in nodes.into_iter().take(most * 8) {
        help.searched += 1;
        let plugins = refusing(node, judgement);
        let search = RemedySearch::run(pod, state, profile, &node.name, trials);
        if search.cut {
            help.cut.push(node.name.clone());
        }
        if search.found.is_empty() {
            let too_many = search.hopeless.is_empty() && !search.cut;
            let many = too_many.then(|| ("", vec![Obstacle::TooManyChanges]));
            let all = search.hopeless.into_iter().chain(many);
            help.hopeless.extend(all.map(|(plugin, obstacles)| Hopeless { node: node.name.clone(), plugin, obstacles }));
        } else {
            left -= 1;
        }
        for (cost, fixes) in search.found {
            found.push((fixes.len(), cost, Remedy { node: node.name.clone(), fixes, plugins: plugins.clone() }));
        }
        if left == 0 {
            break;
        }
    }
    found.sort_by(|a, b| (a.0, a.1, &a.2.node).cmp(&(b.0, b.1, &b.2.node)));
    help.remedies = found.into_iter().map(|(_, _, remedy)| remedy).collect();
    help
}

/// The filters that reject a node; the one that rejects the pod as a whole comes first.
fn refusing(node: &NodeJudgement, judgement: &Judgement) -> Vec<&'static str> {
    let refusing = node.verdicts.iter().zip(&judgement.filters).filter(|(verdict, _)| matches!(verdict, Verdict::Reject(_)));
    let mut plugins: Vec<&'static str> = refusing.map(|(_, plugin)| *plugin).collect();
    if let Some(WholePod::Refused { plugin, .. }) = &judgement.whole_pod {
        plugins.insert(0, plugin);
        plugins.dedup();
    }
    plugins
}

/// A lower bound on the number of changes for a node: filters of different kinds have no change in common.
fn at_least(node: &NodeJudgement, judgement: &Judgement, profile: &Profile) -> usize {
    let refusing = refusing(node, judgement);
    let kinds = profile.rows().filter(|entry| refusing.contains(&entry.name)).map(|entry| entry.plugin.is_met_by());
    kinds.collect::<BTreeSet<_>>().len()
}
