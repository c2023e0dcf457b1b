//! A way away from the state that is walked back at the end.

use crate::cluster::{CachedObject, ClusterState, ObjectChange, ObjectKey};

/// Objects set otherwise for a while, each with what it was.
#[derive(Default)]
pub(crate) struct Excursion {
    steps: Vec<(ObjectKey, Option<CachedObject>)>,
}

impl Excursion {
    /// Sets an object otherwise.
    pub(crate) fn set(&mut self, state: &mut ClusterState, key: &ObjectKey, stored: Option<CachedObject>) {
        let before = state.set(key, stored);
        self.steps.push((key.clone(), before));
    }

    /// Takes a change back.
    pub(crate) fn undo(&mut self, state: &mut ClusterState, change: &ObjectChange) {
        self.set(state, &change.key, change.before.clone());
    }

    /// Goes on where another excursion left off.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.steps.append(&mut other.steps);
    }

    /// Walks all the way back.
    pub(crate) fn restore(self, state: &mut ClusterState) {
        for (key, stored) in self.steps.into_iter().rev() {
            state.set(&key, stored);
        }
    }
}
