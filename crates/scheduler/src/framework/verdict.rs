//! What a filter is given and what it answers: before any node is looked at, then node by node.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};

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
