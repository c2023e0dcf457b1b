//! The interface of a scheduling plugin: prepared once for a pod, then run node by node.

use crate::cluster::{NodeInfo, PodInfo};
use crate::release::Rules;

use super::cycle::Cycle;
use super::fact::Fact;
use super::judgement::Judgement;
use super::need::{ChangeOf, Need, Touches};
use super::score::{Feasible, PreScore};
use super::verdict::{Candidate, PreFilter, Verdict};

/// A scheduling plugin, named and behaving as upstream's plugin (up to 1.16: predicate or priority) of that name.
///
/// What upstream computes in PreFilter or PreScore and keeps in its CycleState is captured here by the closure returned.
/// A profile says at which extension points a plugin takes part and under which name; the default methods of other points are never called.
pub trait Plugin: Sync {
    /// Upstream's name.
    fn name(&self) -> &'static str;

    /// Its page: a first line, then the headings `Checks`, `Reads`, `History`, `Differs from upstream`.
    fn doc(&self) -> &'static str;

    /// PreFilter: prepares for one pod, then filters node by node.
    fn filter<'a>(&self, _cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        PreFilter::Skip
    }

    /// What it compares on a node; `verdict`: its filter's verdict.
    fn compared(&self, _cycle: &Cycle, _node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        Vec::new()
    }

    /// The needs behind its rejection of a node; none: no known change resolves its reasons.
    fn needs(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<Need> {
        Vec::new()
    }

    /// The same where its PreFilter rejects the pod as a whole.
    fn needs_of_pod(&self, _cycle: &Cycle) -> Vec<Need> {
        Vec::new()
    }

    /// The same where it fails with an error.
    fn needs_after_error(&self, _cycle: &Cycle) -> Vec<Need> {
        Vec::new()
    }

    /// The same for a node that its PreFilterResult leaves out.
    fn needs_of_unnamed(&self, _cycle: &Cycle) -> Vec<Need> {
        Vec::new()
    }

    /// What its filter reads in addition to what its needs name.
    fn touches(&self) -> Touches {
        Touches::default()
    }

    /// What is changed to meet its needs.
    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Pods
    }

    /// Whether a pod that cannot be read, but runs on a node, may change its verdict on that node.
    fn looks_at_pods(&self) -> bool {
        true
    }

    /// Whether it signs the pod (SignPod, since 1.35): its results depend only on what pods with the same signature share.
    fn signs(&self, _cycle: &Cycle) -> bool {
        true
    }

    /// What its Filter does where a configuration disables its PreFilter, which would have written the CycleState it reads.
    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Unknown
    }

    /// The filter where its PreFilter is disabled; `prefilter`: what that would have returned.
    fn filter_without_state<'a>(&self, cycle: &'a Cycle<'a>, prefilter: PreFilter<'a>) -> PreFilter<'a> {
        match (self.without_prefilter(&cycle.profile.rules), prefilter) {
            (WithoutState::Fails(error), _) => PreFilter::Filter(Box::new(move |_| Verdict::Error(error.clone()))),
            (_, prefilter) => prefilter.alone(),
        }
    }

    /// What its Score does where a configuration disables its PreScore.
    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Unknown
    }

    /// The score where its PreScore is disabled; `name`: the plugin's name in the profile, `prescore`: what PreScore would have returned.
    fn score_without_state<'a>(&self, name: &str, cycle: &Cycle, prescore: PreScore<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        match (self.without_prescore(rules), prescore) {
            (WithoutState::Fails(error), _) => PreScore::Error(rules.score_error(name, &cycle.pod.name, &error)),
            (_, PreScore::Skip) => PreScore::plain(|_| 0),
            (_, other) => other,
        }
    }

    /// The error of its RemovePod (PreFilterExtensions) where it changes a CycleState that was never written; `None`: it changes none.
    fn remove_pod_error(&self, _rules: &Rules) -> Option<String> {
        None
    }

    /// Its state for a pod while preemption for a group removes pods from many nodes and puts them back; `None`: it keeps none of other nodes.
    fn prefilter_extensions(&self, _cycle: &Cycle) -> Option<Box<dyn PreFilterExtensions>> {
        None
    }

    /// Why the pod does not enter activeQ (PreEnqueue), if it does not.
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

    /// The same for a pod group that does not fit (PodGroupPostFilter, 1.37): its pods that were tried, each with its judgement.
    fn pod_group_post_filter(&self, _members: &[(Cycle, &Judgement)]) -> PostFilter {
        PostFilter::Says("")
    }

    /// Prepares for one pod and the nodes that fit it (PreScore), then scores node by node.
    fn score<'a>(&self, _cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        PreScore::Skip
    }
}

/// Counts that a filter keeps over many nodes, updated pod by pod (`framework/interface.go` PreFilterExtensions).
pub trait PreFilterExtensions: Send + Sync {
    /// A pod is added to a node (1) or removed from it (-1).
    fn moved(&mut self, pod: &PodInfo, node: &NodeInfo, delta: i64, cycle: &Cycle);

    /// Whether a verdict depended on what is random upstream.
    fn is_drawn(&self) -> bool;

    /// Filters a node, pods nominated to it counted.
    fn filter(&self, node: &Candidate, cycle: &Cycle) -> Verdict;
}

/// What an extension point does that finds no CycleState to read.
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
    /// Returns the failure of an extension point that reads the state of plugin `name`'s `kind` (PreFilter, PreScore) that was not written; `prefix` is
    /// how the release begins its error.
    pub(crate) fn fails(prefix: &str, kind: &str, name: &str) -> Self {
        Self::Fails(format!("{prefix} \"{kind}{name}\" from cycleState: not found"))
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

/// The result of a plugin's PostFilter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostFilter {
    /// It adds this to the message, and the next plugin runs.
    Says(&'static str),
    /// This is the message, and no other plugin runs.
    Ends(&'static str),
    /// It fails with this error.
    Fails(&'static str),
    /// It preempts: looks for a node that fits once pods of lower priority are evicted.
    Preempts,
}
