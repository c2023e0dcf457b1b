//! What differs between the judgement of the state evaluated and that of another one which the attempt may have seen instead: verdicts that differ are
//! unknown, scores that differ are uncertain.

use std::sync::Arc;

use crate::framework::{Judgement, Verdict};

use super::doubtful_scores::mark_scores;

/// The nodes that other filters refuse, or whose scores differ.
pub(super) fn differing(judgement: &Judgement, other: &Judgement) -> Vec<Arc<str>> {
    let mut found: Vec<Arc<str>> = refused_otherwise(judgement, other).map(|at| judgement.nodes[at].name.clone()).collect();
    if let (Some(scores), Some(others)) = (&judgement.scores, &other.scores) {
        let there = |name: &Arc<str>| others.nodes.iter().position(|other| other == name).map(|there| others.totals[there]);
        let differing = scores.nodes.iter().zip(&scores.totals).filter(|(name, total)| there(name) != Some(**total));
        found.extend(differing.map(|(name, _)| name.clone()));
    }
    found.sort();
    found.dedup();
    found
}

/// Marks what differs between `certain`, the judgement of the state evaluated, and another one that the attempt may have seen instead, because of what
/// is `missing` in etcd; returns the nodes.
pub(super) fn mark(marked: &mut Judgement, certain: &Judgement, other: &Judgement, missing: &str) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    for at in refused_otherwise(certain, other) {
        found.push(certain.nodes[at].name.clone());
        let others = other.nodes.get(at).filter(|node| node.name == certain.nodes[at].name);
        for (filter, verdict) in certain.nodes[at].verdicts.iter().enumerate() {
            if others.is_none_or(|node| node.verdicts.get(filter) != Some(verdict)) {
                marked.nodes[at].verdicts[filter] = Verdict::Unknown { missing: missing.to_owned().into() };
            }
        }
    }
    found.extend(mark_scores(&mut marked.scores, certain.scores.as_ref(), other.scores.as_ref()));
    found.sort();
    found.dedup();
    found
}

/// The nodes, by their numbers, that another filter refuses in the other judgement, or for other reasons.
fn refused_otherwise(judgement: &Judgement, other: &Judgement) -> impl Iterator<Item = usize> {
    let refusal = |judgement: &Judgement, at: usize| judgement.nodes[at].first_refusal().map(|(at, refusal)| (at, refusal.clone()));
    let same_nodes = judgement.nodes.len() == other.nodes.len();
    (0..judgement.nodes.len()).filter(move |at| !same_nodes || refusal(judgement, *at) != refusal(other, *at))
}
