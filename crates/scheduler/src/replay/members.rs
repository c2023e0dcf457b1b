//! The order in which a cycle tried the pods of one group, where etcd does not tell it: every choice of pods that came before the attempt is tried. What
//! differs between those from which the recorded outcome follows is marked.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{CachedObject, PodInfo, UndoLog};
use crate::explanation::{Agreement, AttemptOutcome, NeighbourDoubt, StateSeen};

use super::Replay;
use super::assumed::Neighbours;
use super::difference::mark;
use super::doubt::is_open;
use super::evaluate::EvaluatedAttempt;
use super::sought_state::{ChosenState, SoughtState};

/// How many pods of a group are tried on either side, each by itself; any more are on the side of the last of these.
const MAX_MEMBERS_TRIED: usize = 10;

/// How many choices are tried, at least and at most, and on all nodes for all pods together.
const CHOICES_TRIED: std::ops::RangeInclusive<usize> = 8..=128;
const MAX_NODE_EVALUATIONS: usize = 50_000;

impl Replay {
    /// Evaluates an attempt with the pods of its group in the order of their ages; where the outcome does not follow, in an order from which it does.
    /// Returns the order, too.
    pub(super) fn with_members(&mut self, sought: &SoughtState, neighbours: &Neighbours, back: usize) -> (ChosenState, Neighbours) {
        let orders = self.orders(sought, neighbours);
        let mut aged = UndoLog::new(self);
        let found = aged.look_back(sought, neighbours, back);
        if found.0.follows || orders.is_empty() {
            aged.keep();
            return (found, neighbours.clone());
        }
        drop(aged);
        for least in [Agreement::Agrees, Agreement::Unverifiable] {
            for before in &orders {
                let ordered = neighbours.with_members(|at| is_before(*before, at));
                let (mut tried, revision) = (UndoLog::new(self), ordered.limit - 1);
                tried.undo_after(revision, back);
                let evaluation = tried.evaluate(sought.attempt, &sought.pod, revision, &ordered);
                let is_sure = matches!(evaluation.agreement, Agreement::Agrees | Agreement::Tie);
                if evaluation.follows && (is_sure || least == Agreement::Unverifiable) {
                    tried.keep();
                    return ((evaluation, revision, Some(StateSeen::BeforeLaterPods)), ordered);
                }
            }
        }
        (self.look_back(sought, neighbours, back), neighbours.clone())
    }

    /// Marks what another order of the group's pods would change; returns the pods on which something depends. The state is the one evaluated, as of
    /// `revision`.
    pub(super) fn doubt_members(
        &mut self,
        sought: &SoughtState,
        evaluation: &mut EvaluatedAttempt,
        revision: i64,
        neighbours: &Neighbours,
    ) -> Vec<NeighbourDoubt> {
        let orders = self.orders(sought, neighbours);
        if orders.is_empty() {
            return Vec::new();
        }
        let members = neighbours.members();
        let counted: Vec<bool> = members.iter().map(|member| self.counts(evaluation, &member.pod)).collect();
        let certain = evaluation.certain().clone();
        let mut depends: Vec<BTreeSet<Arc<str>>> = vec![BTreeSet::new(); members.len()];
        for before in orders {
            let mut log = UndoLog::new(self);
            let other = log.evaluate(sought.attempt, &sought.pod, revision, &neighbours.with_members(|at| is_before(before, at)));
            drop(log);
            if !other.follows && evaluation.follows {
                continue;
            }
            let moved: Vec<usize> = (0..members.len()).filter(|at| is_before(before, *at) != counted[*at]).collect();
            let names: Vec<String> = moved.iter().map(|at| members[*at].pod.full_name()).collect();
            let nodes = mark(&mut evaluation.judgement, &certain, &other.judgement, &is_open(&names));
            moved.iter().for_each(|at| depends[*at].extend(nodes.iter().cloned()));
        }
        evaluation.certain = Some(Box::new(certain));
        let found = members.iter().zip(counted).zip(depends).filter(|(_, nodes)| !nodes.is_empty());
        found
            .map(|((member, counted), nodes)| {
                let (pod, nodes) = (member.pod.full_name(), nodes.into_iter().collect());
                NeighbourDoubt { pod, written: member.written, counted, needed: false, nodes }
            })
            .collect()
    }

    /// The choices of pods before the attempt that are tried, each as a set of bits: the one that the writes say, all, none, then the nearest to the
    /// first. None where the order does not matter or is known.
    fn orders(&self, sought: &SoughtState, neighbours: &Neighbours) -> Vec<u32> {
        let members = &neighbours.members()[..neighbours.members().len().min(MAX_MEMBERS_TRIED)];
        if members.is_empty() || !self.scheduler.is_as_recorded() || sought.attempt.outcome != AttemptOutcome::Scheduled {
            return Vec::new();
        }
        let all = (1_u32 << members.len()) - 1;
        let written = (0..members.len()).filter(|at| members[*at].written < sought.attempt.revision).fold(0, |set, at| set | 1 << at);
        let mut orders: Vec<u32> = (0..=all).collect();
        orders.sort_by_key(|before| if [0, all].contains(before) { 0 } else { (before ^ written).count_ones() });
        orders.truncate(
            (MAX_NODE_EVALUATIONS / self.state.node_count().max(1) / members.len()).clamp(*CHOICES_TRIED.start(), *CHOICES_TRIED.end()),
        );
        orders
    }

    /// Whether an evaluation counts a pod of the group: it is on a node, or it was assumed.
    fn counts(&self, evaluation: &EvaluatedAttempt, pod: &PodInfo) -> bool {
        let key = pod.key();
        let assumed = evaluation.before.iter().rev().find_map(|(_, stored)| match stored {
            CachedObject::Pod(other) if other.key() == key => Some(other.is_on_node()),
            _ => None,
        });
        assumed.unwrap_or_else(|| self.state.pod(&key.0, &key.1).is_some_and(|pod| pod.is_on_node()))
    }
}

/// Whether a pod is tried before the attempt, by its number.
fn is_before(before: u32, at: usize) -> bool {
    before >> at.min(MAX_MEMBERS_TRIED - 1) & 1 == 1
}
