//! Walks the history once: the state change by change, the attempts that changes show, and the state each attempt most likely saw.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cluster::{
    CachedObject, ClusterState, HasState, IncomingObject, ObjectChange, ObjectKey, PodInfo, PodKey, UndoLog, WatchedKind,
};

use crate::explanation::{Attempt, Depth};
use crate::profile::scheduler::Scheduler;

pub(crate) mod agreement;
pub(crate) mod assumed;
pub(crate) mod attempt;
mod event_only;
pub(crate) mod image_snapshots;
pub(crate) mod look_back;
pub(crate) mod own_writes;

use event_only::EventOnly;
use image_snapshots::ImageSnapshots;
use own_writes::is_victim;

/// How many changes are kept to look back over.
const JOURNAL: usize = 20_000;

/// The state at one revision and the changes that led to it.
pub struct Replay {
    pub(crate) state: ClusterState,
    pub(crate) scheduler: Scheduler,
    pub(crate) journal: VecDeque<(i64, ObjectChange)>,
    /// The revision since which each pod without a node waits for its next attempt, and the pod as it was then. Upstream's queues (activeQ, backoffQ,
    /// unschedulablePods) are not in etcd.
    pub(crate) waiting: HashMap<PodKey, (i64, Arc<PodInfo>)>,
    pub(crate) images: ImageSnapshots,
    event_only: EventOnly,
    unreadable: usize,
    pub(crate) depth: Depth,
    /// Whether explanations bring remedies.
    pub(crate) remedies: bool,
    /// Whether the walk began with the cluster's first revision, so that no earlier one is missing.
    pub(crate) complete: bool,
}

impl HasState for Replay {
    fn state_mut(&mut self) -> &mut ClusterState {
        &mut self.state
    }
}

impl Replay {
    /// Starts with an empty cluster. `complete`: no revision before the walk is missing.
    pub fn new(scheduler: Scheduler, complete: bool) -> Self {
        let rules = scheduler.profiles[0].rules.requests;
        Self {
            state: ClusterState::new(rules),
            scheduler,
            journal: VecDeque::new(),
            waiting: HashMap::new(),
            images: ImageSnapshots::default(),
            event_only: EventOnly::default(),
            unreadable: 0,
            depth: Depth::default(),
            remedies: false,
            complete,
        }
    }

    /// Sets how much evidence explanations bring.
    #[must_use]
    pub fn with_depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Sets whether explanations bring remedies for pods that fit no node.
    #[must_use]
    pub fn with_remedies(self, remedies: bool) -> Self {
        Self { remedies, ..self }
    }

    /// The state as of the last change.
    pub fn state(&self) -> &ClusterState {
        &self.state
    }

    /// How many versions of objects could not be read.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The scheduler whose rules are applied.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Adds an object that existed when the walk began.
    pub fn seed<'a>(&mut self, key: &ObjectKey, object: impl Into<IncomingObject<'a>>, mod_revision: i64) {
        let change = self.state.apply(key, Some(object), mod_revision);
        self.unreadable += usize::from(matches!(change.after, Some(CachedObject::Unreadable(_))));
        self.note(&change, mod_revision);
        self.images.note(&change, mod_revision, &self.state, false);
    }

    /// Applies a change and returns the attempts it shows: seldom one, hardly ever two. `object` is `None` for a deletion.
    pub fn advance<'a>(&mut self, key: &ObjectKey, object: Option<impl Into<IncomingObject<'a>>>, revision: i64) -> Vec<Attempt> {
        let change = self.state.apply(key, object, revision);
        let refused = || {
            self.waiting.values().any(|(_, pod)| {
                pod.scheduled.as_ref().is_some_and(|condition| !condition.status && &*condition.reason != "SchedulingGated")
            })
        };
        let refused = change.key.kind == WatchedKind::Node && refused();
        self.images.note(&change, revision, &self.state, refused);
        self.unreadable += usize::from(matches!(change.after, Some(CachedObject::Unreadable(_))));
        let found = match (&change.before, &change.after) {
            (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) => attempt::attempt(Some(before), after, revision),
            _ => None,
        };
        if self.journal.len() == JOURNAL {
            self.journal.pop_front();
        }
        if found.is_none() {
            self.note(&change, revision);
        }
        let event_only = if change.key.kind == WatchedKind::Pod { self.event_only.resolve(&change) } else { None };
        self.journal.push_back((revision, change));
        event_only.into_iter().chain(found).collect()
    }

    /// Records since when a pod waits.
    fn note(&mut self, change: &ObjectChange, revision: i64) {
        if change.key.kind != WatchedKind::Pod {
            return;
        }
        let key: PodKey = (change.key.namespace.clone(), change.key.name.clone());
        match &change.after {
            Some(CachedObject::Pod(pod)) if pod.node_name.is_none() && !pod.finished => {
                self.waiting.entry(key).or_insert_with(|| (revision, pod.clone()));
            }
            _ => {
                self.waiting.remove(&key);
            }
        }
    }

    /// Records an attempt that the last change showed, without explaining it.
    pub fn skip(&mut self, attempt: &Attempt) {
        let mut undone = UndoLog::new(self);
        let Self { journal, state, images, .. } = &mut *undone;
        for (_, change) in journal.iter().rev().take_while(|(revision, _)| *revision >= attempt.revision) {
            state.undo(change);
        }
        images.look(state, attempt.revision - 1);
        images.conclude(state, attempt.revision - 1);
        drop(undone);
        self.conclude(attempt);
    }

    /// Returns the pods that the attempt, or the one before it, preempted from the nominated node.
    pub(crate) fn preempted(&self, attempt: &Attempt, begun: i64) -> Vec<(Arc<PodInfo>, i64)> {
        let nominated = self.nominated_by(attempt);
        let mut found: Vec<(Arc<PodInfo>, i64)> = Vec::new();
        for (revision, change) in self.journal.iter().filter(|(revision, _)| *revision > begun && *revision <= attempt.revision) {
            let Some(CachedObject::Pod(before)) = &change.before else { continue };
            if is_victim(change, &attempt.pod, nominated.as_deref()) && !found.iter().any(|(pod, _)| pod.uid == before.uid) {
                found.push((before.clone(), *revision));
            }
        }
        found
    }

    /// Records that the next attempt of a rejected pod begins with the rejection, if that was written.
    pub(crate) fn conclude(&mut self, attempt: &Attempt) {
        if attempt.event_only {
            return;
        }
        let key = attempt.pod.key();
        self.waiting.remove(&key);
        if let Some(pod) = self.state.pod(&key.0, &key.1).filter(|pod| pod.node_name.is_none() && !pod.finished) {
            self.waiting.insert(key, (attempt.revision, pod.clone()));
        }
    }
}
