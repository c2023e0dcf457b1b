//! What would differ if a neighbour had been decided about on the other side of an attempt. Where the recorded outcome follows all the same, nothing
//! in etcd says which of the two states the attempt saw: scores that differ are uncertain.

use std::sync::Arc;

use crate::cluster::PodInfo;
use crate::explanation::{Attempt, NeighbourDoubt};
use crate::framework::{Judgement, Scores};

use super::Replay;
use super::assumed::Neighbours;
use super::look_back::EvaluatedAttempt;

/// How many neighbours are tried.
const TRIED: usize = 8;

impl Replay {
    /// Tries each neighbour whose place is open on the other side of the attempt; marks the scores that differ and returns the neighbours they
    /// depend on. The state is the one evaluated, as of `revision`.
    pub(crate) fn doubt_neighbours(
        &mut self,
        attempt: &Attempt,
        evaluation: &mut EvaluatedAttempt,
        revision: i64,
        neighbours: &Neighbours,
    ) -> Vec<NeighbourDoubt> {
        let pod = Arc::new(PodInfo { nominated_node_name: attempt.nominated_before.clone(), ..(*attempt.pod).clone() });
        let mut found = Vec::new();
        for at in neighbours.open().into_iter().take(TRIED) {
            let turned: Vec<usize> = match evaluation.turned.contains(&at) {
                true => evaluation.turned.iter().copied().filter(|other| *other != at).collect(),
                false => evaluation.turned.iter().copied().chain([at]).collect(),
            };
            let other = self.evaluate(attempt, &pod, revision, neighbours, &turned);
            if !other.follows && evaluation.follows && !evaluation.turned.contains(&at) {
                continue;
            }
            let uncertain = mark(&mut evaluation.judgement, &other.judgement, other.follows);
            if !uncertain.is_empty() || evaluation.turned.contains(&at) || !evaluation.follows {
                let neighbour = neighbours.get(at);
                found.push(NeighbourDoubt {
                    pod: neighbour.pod.full_name(),
                    written: neighbour.written(),
                    counted: neighbour.is_counted(revision) != evaluation.turned.contains(&at),
                    needed: evaluation.turned.contains(&at),
                    nodes: uncertain,
                });
            }
        }
        found
    }
}

/// Marks what differs in another judgement; returns the nodes. `may_be`: whether the attempt may have seen that one.
fn mark(judgement: &mut Judgement, other: &Judgement, may_be: bool) -> Vec<Arc<str>> {
    let refusal = |judgement: &Judgement, at: usize| judgement.nodes[at].first_refusal().map(|(at, refusal)| (at, refusal.clone()));
    let same_nodes = judgement.nodes.len() == other.nodes.len();
    let differing = (0..judgement.nodes.len()).filter(|at| !same_nodes || refusal(judgement, *at) != refusal(other, *at));
    let mut found: Vec<Arc<str>> = differing.map(|at| judgement.nodes[at].name.clone()).collect();
    if let (Some(scores), true) = (&mut judgement.scores, may_be) {
        let uncertain = match &other.scores {
            Some(others) => mark_scores(scores, others),
            None => Vec::new(),
        };
        found.extend(uncertain);
    }
    found.sort();
    found.dedup();
    found
}

/// Marks the scores that differ from others, and widens the ranges of the sums.
fn mark_scores(scores: &mut Scores, others: &Scores) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    for at in 0..scores.nodes.len() {
        let there = others.nodes.iter().position(|name| *name == scores.nodes[at]);
        let mut differs = false;
        for score in &mut scores.plugins {
            let points = others.plugins.iter().find(|other| other.plugin == score.plugin).zip(there);
            let points = points.map(|(other, there)| (other.raw[there], other.normalized[there]));
            if points != Some((score.raw[at], score.normalized[at])) {
                differs = true;
                if !score.doubtful.contains(&at) {
                    score.doubtful.push(at);
                }
            }
        }
        if differs {
            found.push(scores.nodes[at].clone());
            if let Some(there) = there {
                let total = others.totals[there];
                let own = scores.totals[at];
                let (lowest, highest) = scores.ranges.entry(at).or_insert((own, own));
                (*lowest, *highest) = ((*lowest).min(total), (*highest).max(total));
            }
        }
    }
    found
}
