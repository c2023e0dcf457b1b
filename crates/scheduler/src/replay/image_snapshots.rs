//! ImageLocality's counts in the scheduler's snapshot since 1.29: a node's counts are taken when an attempt first evaluates the node after it
//! changed, and stay until it changes again (`UpdateSnapshot` clones the nodes whose generation changed, `backend/cache/cache.go`;
//! `ImageStateSummary.Snapshot` counts).
//! Two things are not in etcd: whether a node's image list written just before an attempt had reached the scheduler, which watches nodes and pods
//! separately, and when rejected pods were retried without success. Counts that may depend on either are uncertain.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::HashMap;

use crate::cluster::{CachedObject, ClusterState, ImageState, Node, NodeId, ObjectChange};

/// How many revisions before an attempt an image list may still have been on its way to the scheduler.
const UNDER_WAY: i64 = 5;

/// How many revisions changes of image lists are remembered: as long as an attempt may be explained after later ones are known.
const REVISIONS_REMEMBERED: i64 = 4096;

/// The counts of the last snapshot, and the nodes that changed since.
#[derive(Debug, Default)]
pub(crate) struct ImageSnapshots {
    /// The counts of each node as of the last snapshot that took them.
    taken: HashMap<NodeId, Arc<[ImageState]>>,
    changed: HashMap<NodeId, Changed>,
    /// The last changes of image lists, ascending: the revision, the node, and the images added or removed.
    lately: VecDeque<(i64, Option<NodeId>, Vec<Arc<str>>)>,
    /// Images of a node whose counts, as of the last snapshot, are uncertain.
    doubts: HashMap<NodeId, Vec<Arc<str>>>,
}

#[derive(Debug, Default)]
struct Changed {
    /// The revisions of the changes, ascending.
    revisions: Vec<i64>,
    /// Images added or removed anywhere after the first change while a rejected pod waited, each with the revision.
    retried: Vec<(i64, Arc<str>)>,
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
            self.changed.entry(id).or_default().revisions.push(revision);
        }
    }

    /// Records that another scheduler process took over, whose first snapshot takes all nodes.
    pub(crate) fn restart(&mut self, revision: i64, state: &ClusterState) {
        for node in state.nodes() {
            self.changed.entry(node.id).or_default().revisions.push(revision);
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
                changed.retried.extend(moved.iter().filter(|name| holds(node, name)).map(|name| (revision, name.clone())));
            }
        }
        while self.lately.front().is_some_and(|(known, ..)| *known <= revision - REVISIONS_REMEMBERED) {
            self.lately.pop_front();
        }
        self.lately.push_back((revision, state.id_of(&change.key.name), moved));
    }

    /// Gives every node of `state`, which is as of `revision`, the counts an attempt would see.
    pub(crate) fn look(&self, state: &mut ClusterState, revision: i64) {
        for (id, changed) in &self.changed {
            if changed.is_due(revision) {
                state.count_images(*id);
            } else if let Some(taken) = self.taken.get(id) {
                state.set_image_states(*id, taken.clone());
            }
        }
    }

    /// Whether the counts of one of `images` on a node are uncertain for an attempt on `state` as of `revision`.
    pub(crate) fn is_in_doubt(&self, id: NodeId, images: &[String], state: &ClusterState, revision: i64) -> bool {
        let among = |names: &[Arc<str>]| names.iter().any(|name| images.iter().any(|image| **image == **name));
        match self.changed.get(&id).filter(|changed| changed.is_due(revision)) {
            Some(changed) => among(&changed.retried_until(revision)) || self.is_under_way(id, images, state, revision),
            None => self.doubts.get(&id).is_some_and(|names| among(names)),
        }
    }

    /// Records an attempt on `state` as of `revision`: its counts stay until the nodes change again. `chosen`: the node that it chose, which changes
    /// as the pod is assumed there.
    pub(crate) fn conclude(&mut self, state: &mut ClusterState, revision: i64, chosen: Option<NodeId>) {
        let lately: Vec<(Option<NodeId>, Arc<str>)> = self.moved_before(revision).map(|(of, name)| (of, name.clone())).collect();
        let Self { taken, changed, doubts, .. } = self;
        changed.retain(|id, changed| {
            if changed.is_due(revision) {
                state.count_images(*id);
                let node = state.node_by_id(*id);
                let under_way = lately.iter().filter(|(of, name)| *of == Some(*id) || holds(node, name)).map(|(_, name)| name.clone());
                let doubtful: Vec<Arc<str>> = changed.retried_until(revision).into_iter().chain(under_way).collect();
                if doubtful.is_empty() {
                    doubts.remove(id);
                } else {
                    doubts.insert(*id, doubtful);
                }
                taken.insert(*id, node.image_states.clone());
                changed.revisions.retain(|changed| *changed > revision);
                let first = changed.revisions.first().copied().unwrap_or(i64::MAX);
                changed.retried.retain(|(retried, _)| *retried > first);
            }
            !changed.revisions.is_empty()
        });
        if let Some(id) = chosen {
            self.changed.entry(id).or_default().revisions.insert(0, revision);
        }
    }

    /// Whether one of `images` was added to the node or removed from it just before `revision`, or anywhere if the node has it, which may change its
    /// count.
    pub(crate) fn is_under_way(&self, id: NodeId, images: &[String], state: &ClusterState, revision: i64) -> bool {
        let node = state.node_by_id(id);
        let mut moved = self.moved_before(revision).filter(|(of, name)| *of == Some(id) || holds(node, name));
        moved.any(|(_, name)| images.iter().any(|image| **image == **name))
    }

    /// The images that were added or removed just before `revision`, each with its node.
    fn moved_before(&self, revision: i64) -> impl Iterator<Item = (Option<NodeId>, &Arc<str>)> {
        let near = self.lately.iter().filter(move |(moved, ..)| *moved <= revision && *moved > revision - UNDER_WAY);
        near.flat_map(|(_, of, names)| names.iter().map(move |name| (*of, name)))
    }
}

impl Changed {
    /// Whether an attempt as of `revision` takes new counts.
    fn is_due(&self, revision: i64) -> bool {
        self.revisions.first().is_some_and(|first| *first <= revision)
    }

    fn retried_until(&self, revision: i64) -> Vec<Arc<str>> {
        self.retried.iter().filter(|(retried, _)| *retried <= revision).map(|(_, name)| name.clone()).collect()
    }
}

fn holds(node: &Node, image: &str) -> bool {
    node.images.iter().any(|(name, _)| **name == *image)
}
