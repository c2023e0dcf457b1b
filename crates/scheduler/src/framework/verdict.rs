//! What a filter is given and what it returns: before any node is evaluated (PreFilter), then node by node.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};

/// Filters one node.
pub type Filter<'a> = Box<dyn Fn(&Candidate) -> Verdict + Sync + 'a>;

/// What a plugin's PreFilter returns: its status and `PreFilterResult`.
pub enum PreFilter<'a> {
    /// The plugin is skipped for this pod: upstream does not run its filter (or runs it, and it passes everywhere).
    Skip,
    /// The pod is rejected on every node.
    Refuse(Refusal),
    /// The attempt ends with this error, which upstream writes instead of a list of nodes.
    Error(String),
    /// The filter runs on every node.
    Filter(Filter<'a>),
    /// Only the named nodes can fit (`PreFilterResult.NodeNames`); the filter runs on those.
    Narrow(BTreeSet<Arc<str>>, Filter<'a>),
}

impl<'a> PreFilter<'a> {
    /// The filter without its PreFilter, which then neither skips it nor restricts the nodes.
    pub(crate) fn alone(self) -> Self {
        match self {
            Self::Skip => Self::Filter(Box::new(|_| Verdict::Pass)),
            Self::Narrow(_, filter) => Self::Filter(filter),
            other => other,
        }
    }
}

/// A node as a filter sees it: possibly with pods added (nominated ones) or removed (victims of a preemption) since the cycle began.
/// The sums of `node` already include the difference; filters that count pods elsewhere too correct their counts by `added` and `removed`.
pub struct Candidate<'a> {
    /// The node.
    pub node: &'a NodeInfo,
    /// Pods on it that the cluster's state does not have there.
    pub added: &'a [Arc<PodInfo>],
    /// Pods of the cluster's state that were removed from it.
    pub removed: &'a [Arc<PodInfo>],
    /// Pods of the cluster's state that were removed from it and put back.
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

/// The result of a filter on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The filter was skipped for this pod.
    Skip,
    /// The pod passes this filter.
    Pass,
    /// The filter rejects the node.
    Reject(Refusal),
    /// The evidence is not in etcd; the verdict is not guessed.
    Unknown {
        /// What is missing.
        missing: Cow<'static, str>,
    },
    /// Upstream's filter fails with this error, which ends the attempt.
    Error(String),
}

/// Why a pod does not fit, in upstream's words: the reasons and code of a `framework.Status`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// Upstream's reasons, in its order.
    pub reasons: Vec<Cow<'static, str>>,
    /// Whether evicting other pods may help (status code `Unschedulable`), or not (`UnschedulableAndUnresolvable`).
    pub preemption_may_help: bool,
}

impl Refusal {
    /// A rejection that preemption may resolve (`Unschedulable`).
    pub fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reasons: vec![reason.into()], preemption_may_help: true }
    }

    /// A rejection that preemption cannot resolve (`UnschedulableAndUnresolvable`).
    pub fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reasons: vec![reason.into()], preemption_may_help: false }
    }
}

impl Verdict {
    /// A rejection that preemption may resolve (`Unschedulable`).
    pub fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Reject(Refusal::unschedulable(reason))
    }

    /// A rejection that preemption cannot resolve (`UnschedulableAndUnresolvable`).
    pub fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Reject(Refusal::unresolvable(reason))
    }

    /// Whether the pod passes.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Pass | Self::Skip)
    }
}
