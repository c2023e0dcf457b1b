//! Whether a pod may run on one node alone.

use std::sync::Arc;

use crate::cluster::PodInfo;

use crate::plugins::named_nodes;

/// The node a pod is meant for, where its required node affinity names one alone, as a DaemonSet's pods do since 1.12.
pub(crate) fn meant_for(pod: &PodInfo) -> Option<Arc<str>> {
    let names = named_nodes(&pod.spec)?;
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}
