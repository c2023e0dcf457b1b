//! ResourceSlices indexed by their node: a cluster has one or more for each.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::Slice;

/// ResourceSlices in the order they are listed.
#[derive(Default)]
pub(super) struct Slices {
    all: Vec<Arc<Slice>>,
    /// Those that name one node, as indices into `all`.
    of_nodes: HashMap<String, Vec<usize>>,
    /// The others, likewise.
    others: Vec<usize>,
}

impl Slices {
    /// Indexes slices by their nodes.
    pub(super) fn new(all: Vec<Arc<Slice>>) -> Self {
        let mut slices = Self { all, ..Self::default() };
        for (at, slice) in slices.all.iter().enumerate() {
            match slice.spec.node_name.as_deref() {
                // Counters may be consumed from any node.
                Some(node) if !node.is_empty() && !has_counters(slice) => slices.of_nodes.entry(node.to_owned()).or_default().push(at),
                _ => slices.others.push(at),
            }
        }
        slices
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Arc<Slice>] {
        &self.all
    }

    /// Those that may matter for a node: all except those of other nodes.
    pub(super) fn near(&self, node: &str) -> impl Iterator<Item = &Slice> {
        let mut near = self.others.clone();
        near.extend(self.of_nodes.get(node).into_iter().flatten());
        near.sort_unstable();
        near.into_iter().map(|at| &*self.all[at])
    }
}

/// Whether a slice has shared counters.
pub(super) fn has_counters(slice: &Slice) -> bool {
    slice.spec.shared_counters.as_ref().is_some_and(|sets| !sets.is_empty())
}
