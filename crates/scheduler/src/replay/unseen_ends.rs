//! Ends of pods that were written so shortly before an attempt that the scheduler may not have seen them. It takes in pods on nodes and pods that wait
//! by handlers of their own, each at its pace (`eventhandlers.go` addAllEventHandlers, 1.37), so that a new pod may be tried before a node has lost
//! what ended just before.

use std::sync::Arc;

use crate::cluster::{CachedObject, ObjectChange, PodInfo, UndoLog};
use crate::explanation::UnseenEnd;
use crate::framework::{Judgement, NodeJudgement};

use super::Replay;
use super::assumed::Neighbours;
use super::difference::mark;
use super::evaluate::EvaluatedAttempt;
use super::sought_state::SoughtState;

/// How many revisions before an attempt an end may still have been on its way to the scheduler.
const UNDER_WAY: i64 = 3;
/// A pod that was tried within this many revisions of its creation was tried at once.
const AT_ONCE: i64 = 8;
/// How many ends are tried, the last ones.
const MAX_ENDS_TRIED: usize = 8;

impl Replay {
    /// Marks what the last ends would change if the first attempt of a pod had not seen them, each alone and all together. The state is the one
    /// evaluated, as of `revision`.
    pub(super) fn doubt_ends(
        &mut self,
        sought: &SoughtState,
        evaluation: &mut EvaluatedAttempt,
        revision: i64,
        neighbours: &Neighbours,
    ) -> Vec<UnseenEnd> {
        // A pod that was refused is tried again because of what it has seen.
        if !evaluation.follows || sought.attempt.pod.scheduled.is_some() {
            return Vec::new();
        }
        let queued = sought.attempt.queued;
        let last = if revision - queued <= AT_ONCE { queued.min(revision) } else { revision };
        let ends = self.changes_within(last - UNDER_WAY, revision).filter(|(_, change)| !sought.keeps(change));
        let ends = ends.filter_map(|(written, change)| Some((written, ended(change)?.clone(), change.clone())));
        let ends: Vec<(i64, Arc<PodInfo>, ObjectChange)> = ends.rev().take(MAX_ENDS_TRIED).collect();
        let certain = evaluation.certain().clone();
        let mut found: Vec<UnseenEnd> = Vec::new();
        let alone = ends.chunks(1);
        for unseen in alone.chain((ends.len() > 1).then_some(&ends[..])) {
            let mut log = UndoLog::new(self);
            unseen.iter().for_each(|(.., change)| drop(log.state.set(&change.key, change.before.clone())));
            let mut other = log.evaluate(sought.attempt, &sought.pod, revision, neighbours);
            drop(log);
            if !other.follows {
                continue;
            }
            let names: Vec<String> = unseen.iter().map(|(_, pod, _)| pod.full_name()).collect();
            let missing = format!("etcd does not say whether the scheduler knew by then that {} had ended", names.join(", "));
            let refused = keep_refusals(&certain, &mut other.judgement);
            let nodes = [refused, mark(&mut evaluation.judgement, &certain, &other.judgement, &missing)].concat();
            for (written, pod, _) in unseen.iter().filter(|_| !nodes.is_empty()) {
                add(&mut found, UnseenEnd { pod: pod.full_name(), written: *written, nodes: nodes.clone() });
            }
        }
        if !found.is_empty() {
            evaluation.certain = Some(Box::new(certain));
        }
        found
    }
}

/// Lets a filter that refuses a node in both judgements do so for the reasons of the first: almost always the end was seen, and the node is refused
/// either way. Returns the nodes.
fn keep_refusals(certain: &Judgement, other: &mut Judgement) -> Vec<Arc<str>> {
    let mut kept = Vec::new();
    for (node, others) in certain.nodes.iter().zip(&mut other.nodes).filter(|(node, others)| node.name == others.name) {
        let filter = |node: &NodeJudgement| node.first_refusal().map(|(filter, _)| filter);
        let is_refused = filter(node).is_some() && filter(node) == filter(others);
        if is_refused && node.first_refusal() != others.first_refusal() {
            others.verdicts.clone_from(&node.verdicts);
            kept.push(node.name.clone());
        }
    }
    kept
}

/// Adds an end, or the nodes that depend on one that is known.
fn add(found: &mut Vec<UnseenEnd>, end: UnseenEnd) {
    match found.iter_mut().find(|known| known.pod == end.pod && known.written == end.written) {
        Some(known) => {
            known.nodes.extend(end.nodes);
            known.nodes.sort();
            known.nodes.dedup();
        }
        None => found.push(end),
    }
}

/// The pod that a change takes off its node, as it was.
fn ended(change: &ObjectChange) -> Option<&Arc<PodInfo>> {
    match (&change.before, &change.after) {
        (Some(CachedObject::Pod(before)), None) if before.is_on_node() => Some(before),
        (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) if before.is_on_node() && !after.is_on_node() => Some(before),
        _ => None,
    }
}
