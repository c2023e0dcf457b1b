//! ImageLocality's counts since 1.29: a node's are taken when an attempt first looks at the node after it changed, and stay until it changes again.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{Change, ClusterState, ImageState, NodeId, Stored};

/// Nodes that changed since an attempt last looked at them.
#[derive(Debug, Default)]
pub struct ImageSnapshots {
    changed: HashMap<NodeId, Changed>,
}

#[derive(Debug)]
struct Changed {
    /// The revisions of the changes, ascending.
    revisions: Vec<i64>,
    /// The counts of the last look.
    known: Arc<[ImageState]>,
}

impl ImageSnapshots {
    /// Notes which nodes a change touches: the node written, or those of a running pod.
    pub fn note(&mut self, change: &Change, revision: i64, state: &ClusterState) {
        let node_of = |stored: &Option<Stored>| match stored {
            Some(Stored::Pod(pod)) if pod.is_on_node() => state.id_of(pod.node_name.as_deref()?),
            Some(Stored::Node(node, _)) => state.id_of(&node.name),
            _ => None,
        };
        let (before, after) = (node_of(&change.before), node_of(&change.after));
        for id in before.into_iter().chain(after.filter(|after| Some(*after) != before)) {
            let known = match &change.before {
                Some(Stored::Node(_, Some(known))) => known.clone(),
                _ => state.node_by_id(id).image_states.clone(),
            };
            self.changed.entry(id).or_insert_with(|| Changed { revisions: Vec::new(), known }).revisions.push(revision);
        }
    }

    /// Gives every node of `state`, which is as of `revision`, the counts an attempt would see.
    pub fn look(&self, state: &mut ClusterState, revision: i64) {
        for (id, changed) in &self.changed {
            if changed.revisions.first().is_some_and(|first| *first <= revision) {
                state.count_images(*id);
            } else {
                state.set_image_states(*id, changed.known.clone());
            }
        }
    }

    /// Concludes an attempt made on `state` as of `revision`: its counts stay until the nodes change again.
    pub fn conclude(&mut self, state: &ClusterState, revision: i64) {
        self.changed.retain(|id, changed| {
            if changed.revisions.first().is_some_and(|first| *first <= revision) {
                changed.known = state.node_by_id(*id).image_states.clone();
                changed.revisions.retain(|changed| *changed > revision);
            }
            !changed.revisions.is_empty()
        });
    }
}
