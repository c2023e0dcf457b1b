//! Walks the history once: the state change by change, the attempts that changes show, and the state each attempt most likely saw.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cluster::{
    CachedObject, ClusterState, HasState, IncomingObject, ObjectChange, ObjectKey, PodInfo, PodKey, UndoLog, WatchedKind,
};

use crate::explanation::{Attempt, AttemptOutcome, Depth};
use crate::profile::scheduler::Scheduler;

pub(crate) mod agreement;
mod assumed;
pub(crate) mod attempt;
mod difference;
mod doubt;
mod doubtful_scores;
pub(crate) mod evaluate;
mod event_only;
pub(crate) mod image_snapshots;
mod members;
mod neighbour_order;
mod open_attempts;
pub(crate) mod own_writes;
mod place;
pub(crate) mod sought_state;
mod takeover;
mod unseen_ends;

use assumed::{End, Ledger};
use event_only::EventOnly;
use image_snapshots::ImageSnapshots;
pub use open_attempts::{LOOK_AHEAD, OpenAttempts};
use own_writes::is_victim;
use takeover::Concern;
pub use takeover::RestartedSchedulers;

/// How many changes are kept to look back over.
const MAX_JOURNAL_CHANGES: usize = 20_000;

/// The state at one revision and the changes that led to it.
pub struct Replay {
    pub(crate) state: ClusterState,
    pub(crate) scheduler: Scheduler,
    pub(crate) journal: VecDeque<(i64, ObjectChange)>,
    /// The revision since which each pod without a node waits for its next attempt, and the pod as it was then. Upstream's queues (activeQ, backoffQ,
    /// unschedulablePods) are not in etcd.
    pub(crate) waiting: HashMap<PodKey, (i64, Arc<PodInfo>)>,
    /// The decisions shown so far.
    ledger: Ledger,
    pub(crate) images: ImageSnapshots,
    event_only: EventOnly,
    /// The schedulers that hold a lock, where that is known.
    locked: Option<Vec<RestartedSchedulers>>,
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
            ledger: Ledger::default(),
            images: ImageSnapshots::default(),
            event_only: EventOnly::default(),
            locked: None,
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
        let mut found = match (&change.before, &change.after) {
            (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) => attempt::attempt(Some(before), after, revision),
            _ => None,
        };
        if self.journal.len() == MAX_JOURNAL_CHANGES {
            self.journal.pop_front();
        }
        match &mut found {
            Some(attempt) => self.conclude(attempt),
            None => self.observe(&change, revision),
        }
        let event_only = if change.key.kind == WatchedKind::Pod { self.event_only.resolve(&change) } else { None };
        self.journal.push_back((revision, change));
        event_only.into_iter().chain(found).collect()
    }

    /// Records that another scheduler process took over, with a cache and a queue of its own.
    pub fn restart(&mut self, revision: i64, schedulers: RestartedSchedulers) {
        // The counts of images are those of the scheduler whose rules are applied.
        if schedulers.concern(&self.scheduler.profiles[0].scheduler_name) == Concern::Certain {
            self.images.restart(revision, &self.state);
        }
        self.ledger.restart(revision, schedulers);
    }

    /// Sets which schedulers hold locks, those of each process together: only of these is it known when another process took over.
    pub fn trace_restarts(&mut self, locked: Vec<RestartedSchedulers>) {
        self.locked = Some(locked);
    }

    /// Whether it is known that the scheduler of a pod holds no lock.
    pub(crate) fn is_untraced(&self, pod: &PodInfo) -> bool {
        let holds = |of: &RestartedSchedulers| of.concern(&pod.spec.scheduler_name) != Concern::None;
        self.locked.as_ref().is_some_and(|locked| !locked.iter().any(holds))
    }

    /// Records what a change that ends no attempt shows: a pod that waits or is gone, or that another pod was assumed or forgotten.
    fn observe(&mut self, change: &ObjectChange, revision: i64) {
        let pods = || self.waiting.keys().filter_map(|(namespace, name)| self.state.pod(namespace, name)).cloned();
        if let Some((pod, node)) = assumed::shown_by(change, pods(), &self.state, self.scheduler.version.release) {
            if let Some((queued, first)) = self.waiting.get(&pod.key()) {
                self.ledger.begin(first.clone(), *queued, revision, node);
            }
        } else if let Some(pod) = assumed::undone_by(change, pods(), &self.state) {
            self.ledger.undo(&pod.key(), revision);
        }
        self.note(change, revision);
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
                self.ledger.finish(&key, revision, End::Gone, None);
            }
        }
    }

    /// Records an attempt and since when its pod had waited for it. The next attempt of a refused pod begins with the refusal.
    fn conclude(&mut self, attempt: &mut Attempt) {
        let key = attempt.pod.key();
        if let Some((queued, first)) = self.waiting.remove(&key) {
            (attempt.queued, attempt.nominated_before) = (queued, first.nominated_node_name.clone());
            self.ledger.begin(first, queued, attempt.revision, attempt.node.clone());
        }
        let end = if attempt.outcome == AttemptOutcome::Scheduled { End::Bound } else { End::Refused };
        self.ledger.finish(&key, attempt.revision, end, attempt.node.clone());
        if let Some(pod) = self.state.pod(&key.0, &key.1).filter(|pod| pod.node_name.is_none() && !pod.finished) {
            self.waiting.insert(key, (attempt.revision, pod.clone()));
        }
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

    /// Goes back to the state before a revision; returns the number of journal entries left.
    pub(crate) fn undo_after(&mut self, limit: i64, mut end: usize) -> usize {
        while end > 0 && self.journal[end - 1].0 > limit {
            end -= 1;
            self.state.undo(&self.journal[end].1);
        }
        end
    }

    /// Records an attempt without explaining it.
    pub fn skip(&mut self, attempt: &Attempt) {
        // When a repeated refusal was decided is known less exactly than images have to be counted.
        if self.scheduler.profiles[0].rules.image_counts_at_snapshot && !attempt.is_repeated() {
            let revision = self.snapshot_revision(attempt);
            let mut undone = UndoLog::new(self);
            let end = undone.journal.len();
            undone.undo_after(revision, end);
            let Self { state, images, .. } = &mut *undone;
            let chosen = attempt.node.as_deref().and_then(|node| state.id_of(node));
            images.conclude(state, revision, chosen);
        }
    }
}
