//! Who decides where a pod runs: not always a scheduler, and not always among all nodes.

use std::sync::Arc;

use crate::cluster::PodInfo;

use crate::plugins::named_nodes;

/// Who decided, or is to decide, where a pod runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// A scheduler.
    Scheduler,
    /// The kubelet of the node, which runs the pod from a file there: a static pod.
    Kubelet,
    /// Whoever created the pod, with its node.
    Creator,
    /// Not readable any more.
    Unreadable,
}

impl DecidedBy {
    /// Who decided about a pod that is on a node though no attempt shows it. `complete`: no revision is missing.
    pub fn without_attempt(pod: &PodInfo, complete: bool) -> Self {
        match (pod.mirror, complete) {
            (true, _) => Self::Kubelet,
            (false, true) => Self::Creator,
            (false, false) => Self::Unreadable,
        }
    }
}

/// The node a pod is meant for, where its required node affinity names one alone, as a DaemonSet's pods do since 1.12.
pub(crate) fn meant_for(pod: &PodInfo) -> Option<Arc<str>> {
    let names = named_nodes(&pod.spec)?;
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}
