//! What each filter compared on a node: the numbers and names behind its verdict, whether it lets the pod pass or not.

use crate::cluster::NodeInfo;

use crate::framework::{Candidate, Cycle, Fact, PodCheck, Verdict};

/// What the filter at a place of the profile compared on a node. Where pods nominated to the node are what it refuses for, they are
/// thought to be there.
pub fn compared(cycle: &Cycle, node: &NodeInfo, at: usize, verdict: &Verdict) -> Vec<Fact> {
    let nominated = cycle.nominated_pods();
    let Some(added) = nominated.get(&node.name).filter(|_| !verdict.passes()) else {
        return of_filter(cycle, &Candidate::plain(node), at, verdict);
    };
    let plain = of_filter(cycle, &Candidate::plain(node), at, verdict);
    if plain.iter().any(|fact| !fact.holds) {
        return plain;
    }
    let mut with = node.clone();
    added.iter().for_each(|pod| with.add_pod(pod.clone(), cycle.state.rules()));
    let mut facts = vec![Fact::holding(PodCheck::Nominated(added.iter().map(|pod| pod.key()).collect()))];
    facts.extend(of_filter(cycle, &Candidate { node: &with, added, removed: &[], returned: &[] }, at, verdict));
    facts
}

fn of_filter(cycle: &Cycle, node: &Candidate, at: usize, verdict: &Verdict) -> Vec<Fact> {
    let Some(plugin) = cycle.profile.rows().nth(at).map(|entry| entry.plugin) else { return Vec::new() };
    plugin.compared(cycle, node, verdict)
}
