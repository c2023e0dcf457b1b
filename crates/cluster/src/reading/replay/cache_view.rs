//! The changes of pods and nodes as a scheduler's cache sees them, one after the other.

use std::sync::Arc;

use ketcd_scheduler::cluster::{ClusterState, Node, ObjectKey, PodInfo, WatchedKind};
use ketcd_store::Revision;

use super::feed::Feed;
use crate::error::{Error, Result};
use crate::rights::scheduling;

/// A change of a pod or a node: before and after it.
#[derive(Clone, Debug)]
pub enum SeenChange {
    /// A pod.
    Pod(Option<Arc<PodInfo>>, Option<Arc<PodInfo>>),
    /// A node.
    Node(Option<Arc<Node>>, Option<Arc<Node>>),
}

impl SeenChange {
    /// The object of a key, as it is after and as it was before.
    fn of(key: &ObjectKey, state: &ClusterState) -> Option<Self> {
        match key.kind {
            WatchedKind::Pod => Some(Self::Pod(None, state.pod(&key.namespace, &key.name).cloned())),
            WatchedKind::Node => Some(Self::Node(None, state.node(&key.name).map(|node| node.object().clone()))),
            _ => None,
        }
    }

    fn after(self, before: Option<Self>) -> Self {
        match (before, self) {
            (Some(Self::Pod(_, before)), Self::Pod(_, after)) => Self::Pod(before, after),
            (Some(Self::Node(_, before)), Self::Node(_, after)) => Self::Node(before, after),
            (_, own) => own,
        }
    }
}

impl Feed<'_> {
    /// Takes in every change from `from` to `until` and hands on those of pods and nodes, each with the state after it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn see(
        &self,
        state: &mut ClusterState,
        (from, until): (Revision, Revision),
        each: &mut dyn FnMut(&ClusterState, Revision, &SeenChange),
    ) -> Result<()> {
        if from > until {
            return Ok(());
        }
        let watched = scheduling(self.prefix.trim_end_matches('/'));
        self.follow::<Error>(watched, from, until, &mut |version| {
            let (key, revision) = (version.key().cloned(), version.revision());
            let before = key.as_ref().and_then(|key| SeenChange::of(key, state));
            version.put(state);
            if let Some(seen) = key.and_then(|key| SeenChange::of(&key, state)) {
                each(state, Revision(revision), &seen.after(before));
            }
            Ok(())
        })
        .await
    }
}
