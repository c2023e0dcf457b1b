//! Temporary changes of a state, undone automatically: the state a plugin, a preemption or a remedy would see if some objects were different.

use std::ops::{Deref, DerefMut};

use super::{CachedObject, ClusterState, ObjectKey};

/// A value that owns a state.
pub(crate) trait HasState {
    fn state_mut(&mut self) -> &mut ClusterState;
}

impl HasState for ClusterState {
    fn state_mut(&mut self) -> &mut ClusterState {
        self
    }
}

/// Undoes every change of the state that is made while it lives, in reverse order, when it is dropped.
///
/// The owner of the state is accessed through it. Logs nest: the next outer log undoes what an inner one keeps.
#[must_use]
pub(crate) struct UndoLog<'o, O: HasState> {
    owner: &'o mut O,
    /// How many changes of the state were recorded before.
    start: usize,
    kept: bool,
}

impl<'o, O: HasState> UndoLog<'o, O> {
    pub(crate) fn new(owner: &'o mut O) -> Self {
        let start = owner.state_mut().changes.begin();
        Self { owner, start, kept: false }
    }

    /// Ends the log without undoing its changes.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl<O: HasState> Deref for UndoLog<'_, O> {
    type Target = O;
    fn deref(&self) -> &O {
        self.owner
    }
}

impl<O: HasState> DerefMut for UndoLog<'_, O> {
    fn deref_mut(&mut self) -> &mut O {
        self.owner
    }
}

impl<O: HasState> Drop for UndoLog<'_, O> {
    fn drop(&mut self) {
        let state = self.owner.state_mut();
        while !self.kept && state.changes.recorded.len() > self.start {
            if let Some((key, before)) = state.changes.recorded.pop() {
                state.put(&key, before);
            }
        }
        state.changes.end();
    }
}

/// The changes that open logs undo, each with the value before.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedChanges {
    recorded: Vec<(ObjectKey, Option<CachedObject>)>,
    open: usize,
}

impl RecordedChanges {
    /// Records a change, if a log is open.
    pub(super) fn record(&mut self, key: &ObjectKey, before: Option<&CachedObject>) {
        if self.open > 0 {
            self.recorded.push((key.clone(), before.cloned()));
        }
    }

    fn begin(&mut self) -> usize {
        self.open += 1;
        self.recorded.len()
    }

    fn end(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.recorded.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::RequestRules;
    use crate::cluster::WatchedKind;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { kind: WatchedKind::StorageClass, namespace: "".into(), name: name.into() }
    }

    fn add(state: &mut ClusterState, name: &str) {
        let class = format!(
            r#"{{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {{"name": "{name}"}}, "provisioner": "p"}}"#
        );
        let change = state.apply(&key(name), Some(class.as_bytes()), 1);
        assert!(matches!(change.after, Some(CachedObject::StorageClass(_))), "{:?}", change.after);
    }

    fn names(state: &ClusterState) -> Vec<&str> {
        state.listers().storage_classes.iter().filter_map(|class| class.metadata.name.as_deref()).collect()
    }

    #[test]
    fn changes_are_undone_unless_they_are_kept() {
        let mut state = ClusterState::new(RequestRules::FOR_TESTS);
        add(&mut state, "a");
        {
            let mut outer = UndoLog::new(&mut state);
            outer.set(&key("a"), None);
            add(&mut outer, "b");
            let mut dropped = UndoLog::new(&mut *outer);
            add(&mut dropped, "c");
            assert_eq!(names(&dropped), ["b", "c"]);
            drop(dropped);
            assert_eq!(names(&outer), ["b"]);
            let mut kept = UndoLog::new(&mut *outer);
            add(&mut kept, "d");
            kept.keep();
            assert_eq!(names(&outer), ["b", "d"]);
        }
        assert_eq!(names(&state), ["a"]);
        let mut kept = UndoLog::new(&mut state);
        add(&mut kept, "e");
        kept.keep();
        drop(UndoLog::new(&mut state));
        assert_eq!(names(&state), ["a", "e"]);
    }
}
