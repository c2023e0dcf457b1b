//! What a scheduling rule is: prepared once for a pod, then asked node by node.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};

use super::Cycle;
use super::explanation::Fact;

/// One scheduling rule, named and behaving as upstream's plugin (up to 1.16: predicate or priority) of that name.
///
/// What upstream computes in PreFilter or PreScore and keeps in its CycleState is here captured by the closure returned.
/// A profile says at which points a plugin takes part and under which name; the defaults are never asked.
pub trait Plugin: Sync {
    /// Upstream's name.
    fn name(&self) -> &'static str;

    /// Its page: a first line, then the headings `Checks`, `Reads`, `History`, `Differs from upstream`.
    fn doc(&self) -> &'static str;

    /// Prepares for one pod (PreFilter), then judges node by node.
    fn filter<'a>(&self, _cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        PreFilter::Skip
    }

    /// What it compares on a node, where its name alone does not tell (`evidence` knows the others).
    fn compared(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<Fact> {
        Vec::new()
    }

    /// The labels by which a node that it refuses would pass, as far as labels decide: each to be set or, without a value, removed.
    fn wanted_labels(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        Vec::new()
    }

    /// Prepares for one pod and the nodes that fit it (PreScore), then scores node by node.
    fn score<'a>(&self, _cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        PreScore::Skip
    }
}

/// Judges one node.
pub type Filter<'a> = Box<dyn Fn(&Candidate) -> Verdict + Sync + 'a>;

/// What a plugin answers before any node is looked at.
pub enum PreFilter<'a> {
    /// The rule has nothing to say about this pod: upstream does not run it (or runs it and it passes everywhere).
    Skip,
    /// The pod is refused on every node alike.
    Refuse(Refusal),
    /// The attempt ends with this error; upstream then writes it instead of a list of nodes.
    Error(String),
    /// Nodes are judged one by one.
    Judge(Filter<'a>),
    /// Only the nodes named can fit; those are judged one by one.
    Narrow(BTreeSet<Arc<str>>, Filter<'a>),
}

/// A node as a filter sees it: possibly with pods added (nominated ones) or taken off (victims of a preemption) since the cycle began.
/// The sums of `node` already show the difference; filters that count pods elsewhere too correct their counts by `added` and `removed`.
pub struct Candidate<'a> {
    /// The node.
    pub node: &'a NodeInfo,
    /// Pods on it that the cluster's state does not have there.
    pub added: &'a [Arc<PodInfo>],
    /// Pods of the cluster's state that are not on it here.
    pub removed: &'a [Arc<PodInfo>],
    /// Pods of the cluster's state that were taken off it and put back.
    pub returned: &'a [Arc<PodInfo>],
}

impl<'a> Candidate<'a> {
    /// The node as the cluster's state has it.
    pub fn plain(node: &'a NodeInfo) -> Self {
        Self { node, added: &[], removed: &[], returned: &[] }
    }
}

impl Deref for Candidate<'_> {
    type Target = NodeInfo;
    fn deref(&self) -> &NodeInfo {
        self.node
    }
}

/// What a filter says of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule did not run for this pod.
    Skip,
    /// The pod fits, as far as this rule goes.
    Pass,
    /// It does not fit.
    Reject(Refusal),
    /// The evidence is gone or was never in etcd; we do not guess.
    Unknown {
        /// What is missing.
        missing: Cow<'static, str>,
    },
    /// Upstream's filter fails with this error, which ends the attempt.
    Error(String),
}

/// Why a pod does not fit, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// Upstream's reasons, in its order.
    pub reasons: Vec<Cow<'static, str>>,
    /// Whether taking other pods off the node may help (`Unschedulable`); if not, it is `UnschedulableAndUnresolvable`.
    pub preemption_may_help: bool,
}

impl Refusal {
    /// A refusal that preemption may resolve.
    pub fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reasons: vec![reason.into()], preemption_may_help: true }
    }

    /// A refusal that preemption cannot resolve.
    pub fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reasons: vec![reason.into()], preemption_may_help: false }
    }
}

impl Verdict {
    /// A refusal that preemption may resolve.
    pub fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Reject(Refusal::unschedulable(reason))
    }

    /// A refusal that preemption cannot resolve.
    pub fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Reject(Refusal::unresolvable(reason))
    }

    /// Whether the node passes.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Pass | Self::Skip)
    }
}

/// What a plugin answers before scoring.
pub enum PreScore<'a> {
    /// The rule has nothing to say about this pod: upstream does not run it, and it adds nothing.
    Skip,
    /// The score depends on what is not in etcd.
    Unknown(Cow<'static, str>),
    /// Nodes are scored one by one.
    Score(Score<'a>),
    /// The scoring fails, which ends the attempt with this text.
    Error(String),
}

/// The nodes that fit, in the state's order.
pub struct Feasible<'a> {
    nodes: Vec<&'a NodeInfo>,
    /// How many of them the scheduler does not come to, as it is content before; which ones is not recorded.
    pub unseen: usize,
}

impl<'a> Feasible<'a> {
    /// Those that fit, of which the scheduler leaves out `unseen`.
    pub fn new(nodes: Vec<&'a NodeInfo>, unseen: usize) -> Self {
        Self { nodes, unseen }
    }
}

impl<'a> Deref for Feasible<'a> {
    type Target = [&'a NodeInfo];

    fn deref(&self) -> &Self::Target {
        &self.nodes
    }
}

/// Scores one node, before normalisation.
pub type RawScore<'a> = Box<dyn Fn(&NodeInfo) -> i64 + Sync + 'a>;

/// A prepared score.
pub struct Score<'a> {
    /// The plugin's own number for a node.
    pub raw: RawScore<'a>,
    /// How the numbers of all feasible nodes are brought to the common scale.
    pub normalize: Normalize<'a>,
}

impl<'a> PreScore<'a> {
    /// A score that is not normalised.
    pub fn plain(raw: impl Fn(&NodeInfo) -> i64 + Sync + 'a) -> Self {
        Self::Score(Score { raw: Box::new(raw), normalize: Normalize::Keep })
    }

    /// A score normalised by upstream's shared helper.
    pub fn scaled(raw: impl Fn(&NodeInfo) -> i64 + Sync + 'a, reverse: bool) -> Self {
        Self::Score(Score { raw: Box::new(raw), normalize: Normalize::Scale { reverse } })
    }
}

/// Brings the raw scores of the feasible nodes, in their order, to the common scale.
pub(crate) type NormalizeWith<'a> = Box<dyn Fn(&[&NodeInfo], &mut [i64]) + 'a>;

/// How raw scores become normalised ones.
pub enum Normalize<'a> {
    /// They are on the scale already.
    Keep,
    /// By upstream's DefaultNormalizeScore: the highest becomes the scale's end; `reverse`: the lowest raw score is the best.
    Scale {
        /// Whether less is better.
        reverse: bool,
    },
    /// By the plugin's own rule, which looks at nothing but the lowest and the highest.
    Stretch(NormalizeWith<'a>),
    /// By the plugin's own rule, which (or the raw score itself) depends on more than that of the nodes compared.
    Compare(NormalizeWith<'a>),
}

impl Normalize<'_> {
    /// Normalises in place; `max` is the scale's end (10 up to 1.16, then 100).
    pub fn apply(&self, nodes: &[&NodeInfo], scores: &mut [i64], max: i64) {
        match self {
            Self::Keep => {}
            Self::Scale { reverse } => scale(scores, max, *reverse),
            Self::Stretch(normalize) | Self::Compare(normalize) => normalize(nodes, scores),
        }
    }

    /// Whether the points of these raw scores are the same whichever `unseen` of the nodes are left out.
    pub fn holds_without(&self, unseen: usize, raw: &[i64]) -> bool {
        let stays = |extreme: Option<&i64>| extreme.is_none_or(|extreme| raw.iter().filter(|one| *one == extreme).count() > unseen);
        unseen == 0
            || match self {
                Self::Keep => true,
                Self::Scale { .. } => stays(raw.iter().max()) || raw.iter().all(|one| *one <= 0),
                Self::Stretch(_) => stays(raw.iter().max()) && stays(raw.iter().min()),
                Self::Compare(_) => false,
            }
    }
}

/// `DefaultNormalizeScore` (`plugins/helper/normalize_score.go`), `NormalizeReduce` (`priorities/reduce.go`).
fn scale(scores: &mut [i64], max: i64, reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in scores {
        if highest == 0 {
            *score = if reverse { max } else { *score };
        } else {
            let scaled = max * *score / highest;
            *score = if reverse { max - scaled } else { scaled };
        }
    }
}
