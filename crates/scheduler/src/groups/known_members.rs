//! What is known of a group's pods from what became of them after the cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::PodKey;

/// What is known of the pods of a group, or taken as known.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownMembers {
    /// The nodes that pods were bound to.
    pub nodes: BTreeMap<PodKey, Arc<str>>,
    /// Pods that are tried before those whose place is not known.
    pub before: BTreeSet<PodKey>,
    /// Pods that are tried after them.
    pub after: BTreeSet<PodKey>,
}

impl KnownMembers {
    /// Where a pod is tried among those of its priority: 0 before the others, 2 after them.
    pub(super) fn place(&self, pod: &PodKey) -> u8 {
        if self.before.contains(pod) { 0 } else { 1 + u8::from(self.after.contains(pod)) }
    }
}
