//! The result of a scheduling cycle: the verdict of every filter on every node, the scores, and the message that ends it (upstream's
//! `framework.Diagnosis` and `FitError`).

use std::sync::Arc;

use crate::cluster::Unreadable;

use super::group_cycle::GroupCycle;
use super::scores::Scores;
use super::verdict::{Refusal, Verdict};

/// What the scheduler would do with the pod.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The rejection or error that concerns the pod as a whole, if there is one.
    pub whole_pod: Option<WholePod>,
    /// The names of the filters, in order; each node has one verdict for each.
    pub filters: Vec<&'static str>,
    /// Every node, in the state's order (upstream's `NodeToStatus`).
    pub nodes: Vec<NodeJudgement>,
    /// How many nodes the scheduler evaluates before it stops.
    pub sample: Sample,
    /// Scores of the nodes that fit; `None` where the scheduler does not score (at most one node fits, or the nominated node does).
    pub scores: Option<Scores>,
    /// The node the pod is nominated to (`NominatedNodeName`), where it fits there: no other node is then evaluated.
    pub nominated: Option<Arc<str>>,
    /// Whether it may have got the next best node of a pod with the same signature, without an evaluation (OpportunisticBatching, since 1.35).
    pub batched: bool,
    /// The message the scheduler writes if no node fits.
    pub message: Option<String>,
    /// Other messages it may write: among nodes of equal rank preemption picks one at random, and since 1.37 the message names it.
    pub equal_messages: Vec<String>,
    /// Whether preemption would find a node.
    pub preemption_helps: bool,
    /// What a pod that fits waits for before it is bound (GangScheduling's Permit).
    pub permit: Option<&'static str>,
    /// The cycle of the pod's whole group, where there is one (since 1.36).
    pub group: Option<Box<GroupCycle>>,
    /// Objects that were looked up and exist but cannot be read; those that make a filter's or score's verdict unknown are named there instead.
    pub unread: Vec<Arc<Unreadable>>,
}

/// How many nodes the scheduler evaluates before it stops (`percentageOfNodesToScore`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The nodes of the cluster, or those of the PreFilterResult.
    pub of: usize,
    /// How many of them fit.
    pub fit: usize,
    /// After how many feasible nodes it stops.
    pub enough: usize,
}

impl Sample {
    /// How many feasible nodes it does not evaluate.
    pub fn unseen(&self) -> usize {
        self.fit.saturating_sub(self.enough)
    }
}

/// What ends an attempt before any node is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholePod {
    /// The pod does not enter activeQ: a plugin's PreEnqueue keeps it out.
    Gated {
        /// The plugin.
        plugin: &'static str,
        /// Why, in its words.
        reason: String,
    },
    /// A plugin's PreFilter rejected it.
    Refused {
        /// The plugin.
        plugin: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// The attempt ends with an error, which is its message.
    Error(String),
}

/// The filters' verdicts on one node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeJudgement {
    /// The node.
    pub name: Arc<str>,
    /// Its number in the state.
    pub id: u32,
    /// One verdict per filter of the pass that decided, in the profile's order.
    pub verdicts: Vec<Verdict>,
    /// Whether the PreFilterResult left the node out, so that no filter ran on it.
    pub absent: bool,
}

impl Judgement {
    /// Makes a judgement of what is known once the filters have run, or were skipped.
    pub fn new(filters: Vec<&'static str>, nodes: Vec<NodeJudgement>, whole_pod: Option<WholePod>) -> Self {
        Self {
            whole_pod,
            filters,
            nodes,
            sample: Sample::default(),
            scores: None,
            nominated: None,
            batched: false,
            message: None,
            equal_messages: Vec::new(),
            preemption_helps: false,
            permit: None,
            group: None,
            unread: Vec::new(),
        }
    }
}

impl NodeJudgement {
    /// The first filter that did not pass, unless one before it failed.
    pub fn first_refusal(&self) -> Option<(usize, &Refusal)> {
        self.stop().and_then(|at| match &self.verdicts[at] {
            Verdict::Reject(refusal) => Some((at, refusal)),
            _ => None,
        })
    }

    /// How far the node is from fitting: how many filters reject, for how many reasons.
    pub fn distance(&self) -> (usize, usize) {
        let refusals = self.verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::Reject(refusal) => Some(refusal.reasons.len()),
            Verdict::Error(_) => Some(1),
            _ => None,
        });
        refusals.fold((0, 0), |(filters, all), reasons| (filters + 1, all + reasons))
    }

    /// The position of the first filter that rejects or fails: where upstream stops.
    pub fn stop(&self) -> Option<usize> {
        self.verdicts.iter().position(|verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_)))
    }

    /// Whether no filter rejects (and the PreFilterResult does not leave the node out).
    pub fn fits(&self) -> bool {
        !self.absent && !self.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_)))
    }

    /// The missing evidence, if no filter rejects but one is unknown.
    pub fn unknown(&self) -> Option<&str> {
        self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Unknown { missing } => Some(missing.as_ref()),
            _ => None,
        })
    }
}
