//! Which of two new pods of different priority was taken first, where nothing is certain: the more urgent one, if it was in the queue when the other
//! one was taken. When that was is not in etcd, so it is a guess: some revisions before the binding was written, after the pods ahead of it were taken
//! and before those behind it.

use std::collections::{BTreeMap, HashMap};

use super::ledger::Decision;
use super::order::Subject;

/// A binding is written about this many revisions after its decision.
const BINDING_LAG_REVISIONS: i64 = 8;

/// The number of revisions between a creation and a guess that makes the guess as certain as an order of two writes.
const SURE_REVISIONS: i64 = 16;

/// Where another decision was most likely made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    /// Whether it was made before the attempt.
    pub before: bool,
    /// How far from doubt that is, in revisions between two writes.
    pub margin: i64,
}

/// A new pod's way through the queue.
#[derive(Clone, Copy)]
struct Passage<'a> {
    uid: &'a str,
    queued: i64,
    priority: i32,
    written: i64,
}

/// The revisions by which new pods were most likely taken from the queue, by their uids.
#[derive(Debug, Default)]
pub(super) struct QueueExits<'a> {
    by: HashMap<&'a str, i64>,
}

impl<'a> QueueExits<'a> {
    /// Estimates it for an attempt and the decisions about other pods of the same scheduler.
    pub(super) fn of(subject: &Subject<'a>, others: &[&'a Decision]) -> Self {
        let passages = others.iter().filter(|other| other.fresh).map(|other| {
            let (uid, priority) = (&*other.pod.uid, other.pod.spec.priority);
            Passage { uid, queued: other.queued, priority, written: other.written }
        });
        let own = Passage { uid: &subject.pod.uid, queued: subject.queued, priority: subject.pod.spec.priority, written: subject.written };
        let mut passages: Vec<Passage<'a>> = passages.chain(subject.fresh.then_some(own)).collect();
        if passages.iter().all(|passage| passage.priority == passages[0].priority) {
            return Self::default();
        }
        passages.sort_unstable_by_key(|passage| passage.queued);
        // By priority: the last write of a pod queued up to here, and the first one of a pod queued from here on.
        let (mut last, mut first) = (BTreeMap::new(), BTreeMap::new());
        let mut by = HashMap::new();
        for passage in &passages {
            let written = last.range(passage.priority..).map(|(_, written)| *written).fold(passage.written, i64::max);
            last.insert(passage.priority, written);
            by.insert(passage.uid, written - BINDING_LAG_REVISIONS);
        }
        for passage in passages.iter().rev() {
            let written = first.range(..=passage.priority).map(|(_, written)| *written).fold(passage.written, i64::min);
            first.insert(passage.priority, written);
            by.entry(passage.uid).and_modify(|taken| *taken = (*taken).min(written - 1));
        }
        Self { by }
    }

    /// Where another decision was most likely made; `None` where only the writes say so.
    pub(super) fn guess(&self, subject: &Subject, other: &Decision) -> Option<Guess> {
        let (own, others) = (subject.pod.spec.priority, other.pod.spec.priority);
        let is_urgent = others > own;
        let (urgent, taken) =
            if is_urgent { (other.queued, self.by.get(&*subject.pod.uid)) } else { (subject.queued, self.by.get(&*other.pod.uid)) };
        let early = taken.filter(|_| own != others && subject.fresh && other.fresh)? - urgent;
        Some(Guess { before: is_urgent == (early > 0), margin: early.abs() / SURE_REVISIONS })
    }
}
