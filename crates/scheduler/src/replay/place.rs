//! Where an attempt stands in the history: what it wrote itself, which decisions are near it, and the revision of its snapshot.

use std::sync::Arc;

use crate::cluster::{CachedObject, ObjectChange, PodInfo, WatchedKind};
use crate::explanation::{Attempt, AttemptOutcome};

use super::assumed::{MAX_SWAP_REVISIONS, Neighbours, Subject};
use super::own_writes::first_own_write;
use super::{LOOK_AHEAD, Replay};

/// How many pods of the same scheduler are named.
const MAX_PODS_NAMED: usize = 3;

impl Replay {
    /// The changes from when an attempt's pod began to wait up to revision `until`, oldest first.
    pub(super) fn changes_within(&self, after: i64, until: i64) -> impl DoubleEndedIterator<Item = (i64, &ObjectChange)> {
        let from = self.journal.partition_point(|(revision, _)| *revision <= after);
        let to = self.journal.partition_point(|(revision, _)| *revision <= until);
        self.journal.range(from..to.max(from)).map(|(revision, change)| (*revision, change))
    }

    /// The revision after which an attempt began: its pod waits since then, the process that made it took over, or its pod may have been forgotten.
    pub(crate) fn began_after(&self, attempt: &Attempt) -> i64 {
        let forgotten = self.ledger.forgotten(&attempt.pod, attempt.revision).map_or(0, |(since, _)| since);
        attempt.queued.max(self.ledger.taken_over(&attempt.pod, attempt.revision - 1)).max(forgotten)
    }

    /// The revision after which only this attempt can have written for its pod: not one before that was forgotten.
    pub(crate) fn writes_after(&self, attempt: &Attempt) -> i64 {
        let forgotten = self.ledger.forgotten(&attempt.pod, attempt.revision).map_or(0, |(_, shown)| shown - 1);
        self.began_after(attempt).max(forgotten)
    }

    /// The decisions near an attempt.
    pub(crate) fn neighbours(&self, attempt: &Attempt) -> Neighbours {
        let since: Vec<_> = self.changes_within(self.writes_after(attempt), attempt.revision - 1).collect();
        let nominated = self.nominated_by(attempt);
        let own = first_own_write(attempt, nominated.as_deref(), &since, &self.state);
        let pending = matches!(attempt.outcome, AttemptOutcome::Pending | AttemptOutcome::Gated);
        let rules = &self.scheduler.profile_for(&attempt.pod).0.rules;
        let is_known = !attempt.event_only && !pending;
        let subject = Subject {
            pod: &attempt.pod,
            queued: attempt.queued,
            fresh: is_known && self.ledger.is_fresh(&attempt.pod, attempt.queued, attempt.revision),
            relisted: self.ledger.relisted(&attempt.pod, attempt.queued, attempt.revision).filter(|_| is_known),
            listing: rules.listing(),
            written: own.unwrap_or(if pending { attempt.revision + 1 } else { attempt.revision }),
            refused: attempt.outcome == AttemptOutcome::Unschedulable && !attempt.event_only,
            waits_for_refusals: !self.scheduler.profile_for(&attempt.pod).0.gates.on("SchedulerAsyncAPICalls"),
        };
        self.ledger.neighbours(&subject, &self.scheduler)
    }

    /// Other pods of the same `schedulerName` whose decisions are shown next to an attempt's, the nearest first.
    pub(crate) fn decided_alike(&self, attempt: &Attempt) -> Vec<String> {
        self.ledger.nearest(&attempt.pod, attempt.revision, MAX_PODS_NAMED)
    }

    /// Whether every decision that can have been made before an attempt is known, where the history was replayed up to `revision`.
    pub(super) fn is_settled(&self, attempt: &Attempt, revision: i64) -> bool {
        let passed = revision - attempt.revision;
        let decides = |(queued, pod): &(i64, Arc<PodInfo>)| {
            *queued < attempt.revision && pod.scheduled.is_none() && !self.ledger.is_placed(&pod.key())
        };
        passed > LOOK_AHEAD || passed > MAX_SWAP_REVISIONS && !self.waiting.values().any(decides)
    }

    /// The revision of the state at a pod's turn, after its creation and after the pods attempted before it: a new pod that was scheduled at once
    /// cannot have seen what was written later. `None` where nothing that matters was.
    pub(super) fn turn(&self, attempt: &Attempt, neighbours: &Neighbours) -> Option<i64> {
        let new = attempt.pod.scheduled.is_none() && attempt.at_once;
        let later = self.changes_within(neighbours.turn, neighbours.limit - 1).filter(|(_, change)| !is_of(change, &attempt.pod));
        let mut later = later.peekable();
        let first = later.peek().map(|(revision, _)| *revision)?;
        (new && later.any(|(_, change)| matters(change))).then_some(first - 1)
    }

    /// The revision of the snapshot that an attempt most likely took, whatever it saw in it.
    pub(super) fn snapshot_revision(&self, attempt: &Attempt) -> i64 {
        let neighbours = self.neighbours(attempt);
        self.turn(attempt, &neighbours).unwrap_or(neighbours.limit - 1)
    }
}

pub(super) fn is_of(change: &ObjectChange, pod: &PodInfo) -> bool {
    change.key.kind == WatchedKind::Pod && change.key.namespace == pod.namespace && change.key.name == pod.name
}

/// Whether undoing a change can alter a judgement: pods that wait without a nomination cannot.
pub(super) fn matters(change: &ObjectChange) -> bool {
    let counts = |stored: &Option<CachedObject>| match stored {
        Some(CachedObject::Pod(pod)) => pod.is_on_node() || pod.nominated_node_name.is_some(),
        Some(_) => true,
        None => false,
    };
    counts(&change.before) || counts(&change.after)
}
