//! What a scheduling rule is: prepared once for a pod, then asked node by node.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};

use super::cycle::Cycle;
use super::fact::Fact;
use super::judgement::Judgement;
use crate::release::Rules;

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

    /// What it compares on a node; `verdict`: what its filter said.
    fn compared(&self, _cycle: &Cycle, _node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        Vec::new()
    }

    /// The labels by which a node that it refuses would pass, as far as labels decide: each to be set or, without a value, removed.
    fn wanted_labels(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        Vec::new()
    }

    /// What its Filter does where a configuration disables its PreFilter, which would have written the CycleState it reads.
    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Unknown
    }

    /// The filter where its PreFilter is disabled; `prefilter`: what that would have answered.
    fn filter_without_state<'a>(&self, cycle: &'a Cycle<'a>, prefilter: PreFilter<'a>) -> PreFilter<'a> {
        match (self.without_prefilter(&cycle.profile.rules), prefilter) {
            (WithoutState::Fails(error), _) => PreFilter::Judge(Box::new(move |_| Verdict::Error(error.clone()))),
            (_, prefilter) => prefilter.alone(),
        }
    }

    /// What its Score does where a configuration disables its PreScore.
    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Unknown
    }

    /// The score where its PreScore is disabled; `name`: the plugin's in the profile, `prescore`: what PreScore would have answered.
    fn score_without_state<'a>(&self, name: &str, cycle: &Cycle, prescore: PreScore<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        match (self.without_prescore(rules), prescore) {
            (WithoutState::Fails(error), _) => PreScore::Error(rules.score_error(name, &cycle.pod.name, &error)),
            (_, PreScore::Skip) => PreScore::plain(|_| 0),
            (_, other) => other,
        }
    }

    /// Whether it changes its CycleState where preemption takes pods off a node (PreFilterExtensions), and what it fails with where there is none.
    fn remove_pod_error(&self, _rules: &Rules) -> Option<String> {
        None
    }

    /// Why the pod does not enter the queue (PreEnqueue), if it does not.
    fn pre_enqueue(&self, _cycle: &Cycle) -> Option<String> {
        None
    }

    /// What a pod that found a node waits for before it is bound (Permit), if it waits.
    fn permit(&self, _cycle: &Cycle) -> Option<&'static str> {
        None
    }

    /// What it does where no node fits (PostFilter).
    fn post_filter(&self, _cycle: &Cycle, _judgement: &Judgement) -> PostFilter {
        PostFilter::Says("")
    }

    /// The same for a whole group that fits nowhere (PodGroupPostFilter, 1.37): its pods that were tried, each with its judgement.
    fn pod_group_post_filter(&self, _members: &[(Cycle, &Judgement)]) -> PostFilter {
        PostFilter::Says("")
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

impl<'a> PreFilter<'a> {
    /// What is left where PreFilter does not run: nobody skips the filter or narrows the choice, it looks at each node.
    pub(crate) fn alone(self) -> Self {
        match self {
            Self::Skip => Self::Judge(Box::new(|_| Verdict::Pass)),
            Self::Narrow(_, filter) => Self::Judge(filter),
            other => other,
        }
    }
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

/// What a plugin's function does that finds no CycleState to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithoutState {
    /// It computes what it needs.
    Computes,
    /// It fails with this error, on every node.
    Fails(String),
    /// Not modelled.
    Unknown,
}

impl WithoutState {
    /// Fails as a function does whose `kind` (PreFilter, PreScore) of plugin `name` wrote no state, `said` being how the release begins its error.
    pub(crate) fn fails(said: &str, kind: &str, name: &str) -> Self {
        Self::Fails(format!("{said} \"{kind}{name}\" from cycleState: not found"))
    }

    /// The error it fails with, if it does.
    pub(crate) fn error(self) -> Option<String> {
        match self {
            Self::Fails(error) => Some(error),
            Self::Computes | Self::Unknown => None,
        }
    }

    /// Whether it is known what happens.
    pub(crate) fn is_known(&self) -> bool {
        *self != Self::Unknown
    }
}

/// What a plugin's PostFilter comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostFilter {
    /// It adds this to the message, and the next plugin has its turn.
    Says(&'static str),
    /// This is the message, and no other plugin runs.
    Ends(&'static str),
    /// It fails with this error.
    Fails(&'static str),
    /// It preempts: looks for a node that is free once pods of lower priority are gone.
    Preempts,
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
