//! ImageLocality's counts in the scheduler's snapshot since 1.29: a node's counts are taken when an attempt first evaluates the node after it
//! changed, and stay until it changes again (`UpdateSnapshot` clones the nodes whose generation changed, `backend/cache/cache.go`;
//! `ImageStateSummary.Snapshot` counts).
//! Two things are not in etcd: whether a node's image list written just before an attempt had reached the scheduler, which watches nodes and pods
//! separately, and when rejected pods were retried without success. Counts that may depend on either are uncertain.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::HashMap;

use crate::cluster::{CachedObject, ClusterState, ImageState, Node, NodeId, NodeInfo, ObjectChange};

/// How many revisions before an attempt an image list may still have been on its way to the scheduler.
const UNDER_WAY: i64 = 3;

/// Nodes that changed since the last snapshot.
#[derive(Debug, Default)]
pub(crate) struct ImageSnapshots {
    changed: HashMap<NodeId, Changed>,
    /// The last changes of image lists, ascending: the revision, and the images added or removed.
    lately: VecDeque<(i64, Vec<Arc<str>>)>,
    /// Images of a node whose counts, as of the last snapshot, are uncertain.
    doubts: HashMap<NodeId, Vec<Arc<str>>>,
}

#[derive(Debug)]
struct Changed {
    /// The revisions of the changes, ascending.
    revisions: Vec<i64>,
    /// The counts of the last snapshot.
    known: Arc<[ImageState]>,
    /// Images added or removed anywhere after the first change while a rejected pod waited.
    retried: Vec<Arc<str>>,
}

impl ImageSnapshots {
    /// Records which nodes a change affects: the node written, or those of a running pod. `refused`: whether a rejected pod waits for another
    /// attempt.
    pub(crate) fn note(&mut self, change: &ObjectChange, revision: i64, state: &ClusterState, refused: bool) {
        self.note_images(change, revision, state, refused);
        let node_of = |stored: &Option<CachedObject>| match stored {
            Some(CachedObject::Pod(pod)) if pod.is_on_node() => state.id_of(pod.node_name.as_deref()?),
            Some(CachedObject::Node(node, _)) => state.id_of(&node.name),
            _ => None,
        };
        let (before, after) = (node_of(&change.before), node_of(&change.after));
        for id in before.into_iter().chain(after.filter(|after| Some(*after) != before)) {
            let known = match &change.before {
                Some(CachedObject::Node(_, Some(known))) => known.clone(),
                _ => state.node_by_id(id).image_states.clone(),
            };
            self.changed
                .entry(id)
                .or_insert_with(|| Changed { revisions: Vec::new(), known, retried: Vec::new() })
                .revisions
                .push(revision);
        }
    }

    /// Records the images that a change of a node added or removed.
    fn note_images(&mut self, change: &ObjectChange, revision: i64, state: &ClusterState, refused: bool) {
        let node = |stored: &Option<CachedObject>| match stored {
            Some(CachedObject::Node(node, _)) => Some(node.clone()),
            _ => None,
        };
        let (before, after) = (node(&change.before).unwrap_or_default(), node(&change.after).unwrap_or_default());
        if before.images == after.images {
            return;
        }
        let without = |one: &Node, other: &Node| -> Vec<Arc<str>> {
            one.images.iter().filter(|image| !other.images.contains(image)).map(|(name, _)| name.clone()).collect()
        };
        let moved: Vec<Arc<str>> = without(&before, &after).into_iter().chain(without(&after, &before)).collect();
        if refused {
            for (id, changed) in &mut self.changed {
                let node = state.node_by_id(*id);
                changed.retried.extend(moved.iter().filter(|name| holds(node, name)).cloned());
            }
        }
        while self.lately.front().is_some_and(|(known, _)| *known <= revision - 64) {
            self.lately.pop_front();
        }
        self.lately.push_back((revision, moved));
    }

    /// Gives every node of `state`, which is as of `revision`, the counts an attempt would see.
    pub(crate) fn look(&self, state: &mut ClusterState, revision: i64) {
        for (id, changed) in &self.changed {
            if changed.is_due(revision) {
                state.count_images(*id);
            } else {
                state.set_image_states(*id, changed.known.clone());
            }
        }
    }

    /// Whether the counts of one of `images` on a node are uncertain for an attempt on `state` as of `revision`.
    pub(crate) fn is_in_doubt(&self, id: NodeId, images: &[String], state: &ClusterState, revision: i64) -> bool {
        let among = |names: &[Arc<str>]| names.iter().any(|name| images.iter().any(|image| **image == **name));
        match self.changed.get(&id).filter(|changed| changed.is_due(revision)) {
            Some(changed) => among(&changed.retried) || among(&self.under_way(state.node_by_id(id), revision)),
            None => self.doubts.get(&id).is_some_and(|names| among(names)),
        }
    }

    /// Records an attempt on `state` as of `revision`: its counts stay until the nodes change again.
    pub(crate) fn conclude(&mut self, state: &ClusterState, revision: i64) {
        let lately: Vec<Arc<str>> = self.moved_before(revision).cloned().collect();
        let doubts = &mut self.doubts;
        self.changed.retain(|id, changed| {
            if changed.is_due(revision) {
                let node = state.node_by_id(*id);
                let doubtful: Vec<Arc<str>> =
                    changed.retried.drain(..).chain(lately.iter().filter(|name| holds(node, name)).cloned()).collect();
                if doubtful.is_empty() {
                    doubts.remove(id);
                } else {
                    doubts.insert(*id, doubtful);
                }
                changed.known = node.image_states.clone();
                changed.revisions.retain(|changed| *changed > revision);
            }
            !changed.revisions.is_empty()
        });
    }

    /// Images of a node that were added or removed somewhere just before `revision`.
    fn under_way(&self, node: &NodeInfo, revision: i64) -> Vec<Arc<str>> {
        self.moved_before(revision).filter(|name| holds(node, name)).cloned().collect()
    }

    fn moved_before(&self, revision: i64) -> impl Iterator<Item = &Arc<str>> {
        let near = self.lately.iter().filter(move |(moved, _)| *moved <= revision && *moved > revision - UNDER_WAY);
        near.flat_map(|(_, names)| names)
    }
}

impl Changed {
    /// Whether an attempt as of `revision` takes new counts.
    fn is_due(&self, revision: i64) -> bool {
        self.revisions.first().is_some_and(|first| *first <= revision)
    }
}

fn holds(node: &Node, image: &str) -> bool {
    node.images.iter().any(|(name, _)| **name == *image)
}
