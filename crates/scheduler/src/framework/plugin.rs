//! What a scheduling rule is: prepared once for a pod, then asked node by node.

use crate::cluster::{NodeInfo, PodInfo};
use crate::release::Rules;

use super::cycle::Cycle;
use super::fact::Fact;
use super::judgement::Judgement;
use super::need::{ChangeOf, Need, Touches};
use super::score::{Feasible, PreScore};
use super::verdict::{Candidate, PreFilter, Verdict};

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

    /// What its refusal of a node asks for; none: its reasons stand for what nothing known meets.
    fn needs(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<Need> {
        Vec::new()
    }

    /// The same where its PreFilter refuses the pod as a whole.
    fn needs_of_pod(&self, _cycle: &Cycle) -> Vec<Need> {
        Vec::new()
    }

    /// The same where it fails with an error.
    fn needs_after_error(&self, _cycle: &Cycle) -> Vec<Need> {
        Vec::new()
    }

    /// The same of a node that its PreFilter leaves out.
    fn needs_of_unnamed(&self, _cycle: &Cycle) -> Vec<Need> {
        Vec::new()
    }

    /// What its filter looks at beside what its needs name.
    fn touches(&self) -> Touches {
        Touches::default()
    }

    /// What is changed to meet its needs.
    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Pods
    }

    /// Whether a pod that cannot be read, but runs on a node, may change what it says of that node.
    fn looks_at_pods(&self) -> bool {
        true
    }

    /// Whether it signs the pod (SignPod, since 1.35): what it says depends on nothing but what pods of one signature have in common.
    fn signs(&self, _cycle: &Cycle) -> bool {
        true
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

    /// Its state for a pod while preemption for a group takes pods off many nodes and puts them back; `None`: it keeps nothing of other nodes.
    fn prefilter_extensions(&self, _cycle: &Cycle) -> Option<Box<dyn PreFilterExtensions>> {
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

/// What a filter counts over many nodes, brought up to date pod by pod (`framework/interface.go` PreFilterExtensions).
pub trait PreFilterExtensions: Send + Sync {
    /// A pod is put on a node (1) or taken off it (-1).
    fn moved(&mut self, pod: &PodInfo, node: &NodeInfo, delta: i64, cycle: &Cycle);

    /// Whether a verdict depended on what upstream leaves to chance.
    fn is_drawn(&self) -> bool;

    /// What the filter says of a node, pods nominated to it counted.
    fn judge(&self, node: &Candidate, cycle: &Cycle) -> Verdict;
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
