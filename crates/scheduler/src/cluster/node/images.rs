//! Which nodes have which images, as the scheduler's cache counts them.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use crate::cluster::NodeId;

/// One image on one node, as the scheduler's cache held it when that node was last written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageState {
    /// The image's name, as the kubelet reports it.
    pub(crate) name: Arc<str>,
    /// Its size in bytes: the size of the first node that reported it.
    pub(crate) size: i64,
    /// How many nodes had it at that moment; later changes of other nodes do not touch this number.
    pub(crate) nodes: usize,
}

/// All images of the cluster. Upstream: `cacheImpl.imageStates` (`internal/cache/cache.go`).
#[derive(Clone, Debug, Default)]
pub(in crate::cluster) struct Images {
    by_name: HashMap<Arc<str>, (i64, BTreeSet<NodeId>)>,
}

impl Images {
    pub(in crate::cluster) fn remove(&mut self, node: NodeId, images: &[(Arc<str>, i64)]) {
        for (name, _) in images {
            if let Some((_, nodes)) = self.by_name.get_mut(name) {
                nodes.remove(&node);
                if nodes.is_empty() {
                    self.by_name.remove(name);
                }
            }
        }
    }

    pub(in crate::cluster) fn add(&mut self, node: NodeId, images: &[(Arc<str>, i64)]) {
        for (name, size) in images {
            self.by_name.entry(name.clone()).or_insert_with(|| (*size, BTreeSet::new())).1.insert(node);
        }
    }

    /// The states of a node's images as of now, sorted by name.
    pub(in crate::cluster) fn states(&self, images: &[(Arc<str>, i64)]) -> Arc<[ImageState]> {
        let known = images.iter().filter_map(|(name, _)| Some((name, self.by_name.get(name)?)));
        let mut states: Vec<_> =
            known.map(|(name, (size, nodes))| ImageState { name: name.clone(), size: *size, nodes: nodes.len() }).collect();
        states.sort_by(|a, b| a.name.cmp(&b.name));
        states.dedup_by(|later, first| later.name == first.name);
        states.into()
    }
}
