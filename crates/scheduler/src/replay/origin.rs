//! Whether a pod may run on one node alone.

use std::sync::Arc;

use crate::cluster::PodInfo;

use crate::plugins::named_nodes;

/// Returns the node that the pod's required node affinity names as the only one, as for pods of a DaemonSet since 1.12.
pub(crate) fn meant_for(pod: &PodInfo) -> Option<Arc<str>> {
    let names = named_nodes(&pod.spec)?;
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}
