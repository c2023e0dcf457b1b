//! Which nodes an attempt sees: from 100 nodes on the scheduler stops when it has found enough that fit, and begins the next attempt where it stopped.
//! Source: `schedule_one.go` findNodesThatPassFilters, `backend/cache/node_tree.go` (1.37).
//!
//! In which order a scheduler holds its nodes, and where it begins, is in its memory alone: zones take turns, and the rest is chance. Here nodes are in
//! the order of their names and the first attempt begins with the first; each seed has another order and another beginning. Upstream's goroutines
//! take nodes in pieces, so that a few more may be seen.

use std::collections::{BTreeMap, HashSet};

use ketcd_scheduler::{Cycle, Judgement, Scores};

use super::in_memory_state::NodeWalk;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// The nodes that an attempt found, where it stops before it has seen all that fit, with their scores.
pub(super) struct Found {
    /// Their scores; `None`: there is one node.
    pub scores: Option<Scores>,
    /// The nodes.
    pub nodes: Vec<String>,
}

/// Plays which nodes an attempt sees; `None`: it sees all that fit.
pub(super) fn found(world: &mut SimulatedCluster<'_>, judgement: &Judgement, choices: &mut Choices) -> Option<Found> {
    let sample = &judgement.sample;
    if sample.unseen() == 0 || judgement.nominated.is_some() || judgement.whole_pod.is_some() {
        return None;
    }
    arrange(world, choices);
    let fitting: HashSet<&str> = judgement.nodes.iter().filter(|node| node.fits()).map(|node| &*node.name).collect();
    let walk = &mut world.walk;
    let (mut nodes, mut seen) = (Vec::new(), 0);
    for at in 0..walk.order.len() {
        let name = &walk.order[(walk.start + at) % walk.order.len()];
        seen = at + 1;
        if fitting.contains(&**name) {
            nodes.push(name.clone());
        }
        if nodes.len() == sample.enough {
            break;
        }
    }
    walk.start = (walk.start + seen) % walk.order.len().max(1);
    Some(Found { scores: None, nodes })
}

/// The scores of the nodes that were found; `None`: they are not known.
pub(super) fn score(cycle: &Cycle<'_>, found: Found) -> Option<Found> {
    let scores = cycle.score_among(&found.nodes).ok()?;
    Some(Found { scores, ..found })
}

/// Puts the nodes in order, if there are others than before.
fn arrange(world: &mut SimulatedCluster<'_>, choices: &mut Choices) {
    if !world.walk.order.is_empty() && !world.walk.is_stale {
        return;
    }
    let names = world.nodes();
    let mut zones: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        let label = |key: &str| world.model.state.node(&name).and_then(|node| node.labels.get(key)).unwrap_or_default();
        let zone = format!("{}:{}", label("topology.kubernetes.io/region"), label("topology.kubernetes.io/zone"));
        zones.entry(zone).or_default().push(name);
    }
    let zones: Vec<Vec<String>> = zones.into_values().map(|zone| choices.shuffled(zone)).collect();
    let zones = choices.shuffled(zones);
    let order = taking_turns(zones);
    let start = if world.walk.order.is_empty() { choices.one_of(order.len()) } else { world.walk.start % order.len().max(1) };
    world.walk = NodeWalk { order, start, is_stale: false };
}

/// One of each list after the other, until all are empty (`nodeTree.list`).
fn taking_turns(zones: Vec<Vec<String>>) -> Vec<String> {
    let longest = zones.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|at| zones.iter().filter_map(move |zone| zone.get(at).cloned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_take_turns_until_the_longest_is_at_its_end() {
        let zone = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(taking_turns(vec![zone(&["a1", "a2", "a3"]), zone(&["b1"])]), zone(&["a1", "b1", "a2", "a3"]));
    }
}
