//! What a watch brought and no chunk has yet: which revisions are complete, when they are to be written, and what the next chunk says that it has.
//! It knows neither files nor a clock.
//!
//! A revision is complete when a later one begins, when the watch says that nothing else happened up to it, or when the watch pauses: one passes on
//! the changes of a revision without a pause. A chunk has whole revisions alone, and says no more than it has.

use std::time::Duration;

use crate::{Arrival, Event, Revision};

/// The most changes written at once,
const MAX_BATCH_CHANGES: usize = 100;
/// or bytes of them,
const MAX_BATCH_BYTES: usize = 1 << 20;
/// or the longest that a change waits.
const MAX_BATCH_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Intake {
    /// The changes that no chunk has, ascending.
    taken: Vec<Event>,
    /// How many of them, the first, belong to complete revisions.
    whole: usize,
    bytes: usize,
    /// All revisions up to this one are written, or known to be missing; `None` before anything is.
    upto: Option<i64>,
    /// All changes up to this revision were taken.
    complete: i64,
    /// The revision whose changes come in.
    begun: Option<i64>,
    /// Since when something waits to be written.
    since: Option<Duration>,
    /// When what comes next arrives, and how long before it was committed at most, in microseconds.
    arriving: Option<(i64, i64)>,
    /// When revisions arrived, of which no chunk says it, ascending.
    arrived: Vec<Arrival>,
}

/// What the next chunk has: all changes after one revision, up to another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    pub after: i64,
    pub upto: i64,
    pub changes: &'a [Event],
    /// When revisions of these arrived, ascending.
    pub arrivals: Vec<Arrival>,
}

/// A change that does not follow those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disorder {
    pub revision: i64,
    /// The revision that had come before.
    pub reached: i64,
}

impl Intake {
    /// Goes on behind a revision: all up to it is written or missing.
    pub(super) fn begin_after(&mut self, revision: i64) {
        self.taken.retain(|event| event.revision.0 > revision);
        (self.whole, self.bytes) = (0, self.taken.iter().map(size).sum());
        (self.upto, self.complete) = (Some(revision), revision);
        self.begun = self.begun.filter(|&begun| begun > revision);
        self.drop_arrivals();
        self.since = self.since.filter(|_| !self.taken.is_empty());
    }

    /// Up to which revision all is written, or known to be missing.
    pub(super) fn upto(&self) -> Option<i64> {
        self.upto
    }

    /// Notes when what comes next arrives.
    pub(super) fn arriving(&mut self, arriving: Option<(i64, i64)>) {
        self.arriving = arriving;
    }

    /// Notes that a revision arrives. The first of its changes counts.
    fn arrive(&mut self, revision: i64) {
        let is_new = self.arrived.last().is_none_or(|last| last.to.0 < revision);
        let Some((time, delay)) = self.arriving.filter(|_| is_new) else { return };
        match self.arrived.last_mut().filter(|last| (last.time, last.delay) == (time, delay)) {
            Some(last) => last.to = Revision(revision),
            None => self.arrived.push(Arrival { from: Revision(revision), to: Revision(revision), time, delay }),
        }
    }

    /// Drops when revisions arrived that are written, or known to be missing.
    fn drop_arrivals(&mut self) {
        let first = Revision(self.upto.unwrap_or(0) + 1);
        self.arrived = self.arrived.iter().filter_map(|arrival| arrival.within(first, Revision(i64::MAX))).collect();
    }

    pub(super) fn change(&mut self, event: &Event, now: Duration) -> Result<(), Disorder> {
        self.begin(event.revision.0, now)?;
        let last = self.taken.last().filter(|last| last.revision == event.revision);
        if last.is_some_and(|last| last.sub_revision >= event.sub_revision) {
            return Err(Disorder { revision: event.revision.0, reached: event.revision.0 });
        }
        self.bytes += size(event);
        self.taken.push(event.clone());
        Ok(())
    }

    /// Notes that changes of a revision come in, of which some may not be taken.
    pub(super) fn begin(&mut self, revision: i64, now: Duration) -> Result<(), Disorder> {
        let reached = self.begun.unwrap_or(self.complete);
        if revision < reached || revision <= self.complete {
            return Err(Disorder { revision, reached });
        }
        self.progress(revision - 1, now);
        if self.begun != Some(revision) {
            self.arrive(revision);
        }
        self.begun = Some(revision);
        self.since.get_or_insert(now);
        Ok(())
    }

    /// Notes that nothing else happened up to a revision.
    pub(super) fn progress(&mut self, upto: i64, now: Duration) {
        if upto <= self.complete {
            return;
        }
        if self.begun.is_none_or(|begun| begun <= upto) {
            (self.begun, self.whole) = (None, self.taken.len());
        }
        self.complete = upto;
        self.since.get_or_insert(now);
    }

    /// Notes that the watch pauses: the changes of the revision that came in are all there.
    pub(super) fn pause(&mut self, now: Duration) {
        if let Some(begun) = self.begun {
            self.progress(begun, now);
        }
    }

    /// When it is time to write what waits.
    pub(super) fn due(&self) -> Option<Duration> {
        self.since.map(|since| since + MAX_BATCH_WAIT)
    }

    /// Whether so much is complete that it is to be written at once.
    pub(super) fn is_full(&self) -> bool {
        self.whole >= MAX_BATCH_CHANGES || (self.bytes >= MAX_BATCH_BYTES && self.whole > 0)
    }

    /// What a chunk is to have, if there is anything to say.
    pub(super) fn cut(&self) -> Option<Cut<'_>> {
        let after = self.upto.unwrap_or(0);
        (self.complete > after).then(|| {
            let arrived = self.arrived.iter().filter_map(|arrival| arrival.within(Revision(after + 1), Revision(self.complete)));
            Cut { after, upto: self.complete, changes: &self.taken[..self.whole], arrivals: arrived.collect() }
        })
    }

    /// Notes that what [`Intake::cut`] said is on the disk. Returns how many changes that were.
    pub(super) fn written(&mut self, now: Duration) -> usize {
        let count = self.whole;
        self.taken.drain(..count);
        (self.whole, self.bytes) = (0, self.taken.iter().map(size).sum());
        self.upto = Some(self.complete.max(self.upto.unwrap_or(0)));
        self.drop_arrivals();
        self.postpone(now);
        count
    }

    /// Notes that an attempt to write was made: what still waits has time again.
    pub(super) fn postpone(&mut self, now: Duration) {
        self.since = (!self.taken.is_empty() || self.begun.is_some()).then_some(now);
    }
}

/// About how many bytes a change takes.
fn size(event: &Event) -> usize {
    event.key_value.key.len() + event.key_value.value.len() + 32
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{EventKind, KeyValue, Origin, Sources};

    fn event(revision: i64, sub: i64) -> Event {
        let key_value = KeyValue {
            key: Bytes::from_static(b"/registry/pods/lab/a"),
            value: Bytes::new(),
            create_revision: Revision(revision),
            mod_revision: Revision(revision),
            version: 1,
            replaced: Revision(0),
            lease: 0,
        };
        let (kind, origin, sources) = (EventKind::Put, Origin::Live, Sources::default());
        Event { revision: Revision(revision), sub_revision: sub, kind, key_value, origin, sources }
    }

    const NOW_TIME: Duration = Duration::from_secs(7);

    fn intake(changes: &[(i64, i64)]) -> Intake {
        let mut intake = Intake::default();
        intake.begin_after(1);
        changes.iter().for_each(|&(revision, sub)| intake.change(&event(revision, sub), NOW_TIME).unwrap());
        intake
    }

    fn cut(intake: &Intake) -> Option<(i64, i64, usize)> {
        intake.cut().map(|cut| (cut.after, cut.upto, cut.changes.len()))
    }

    #[test]
    fn a_chunk_has_whole_revisions_alone() {
        let mut intake = intake(&[(2, 0), (3, 0), (3, 1)]);
        assert_eq!(cut(&intake), Some((1, 2, 1)));
        assert_eq!(intake.written(NOW_TIME), 1);
        assert_eq!((cut(&intake), intake.due()), (None, Some(NOW_TIME + MAX_BATCH_WAIT)));
        intake.change(&event(3, 2), NOW_TIME).unwrap();
        intake.pause(NOW_TIME);
        assert_eq!(cut(&intake), Some((2, 3, 3)));
        assert_eq!((intake.written(NOW_TIME), cut(&intake), intake.due(), intake.upto()), (3, None, None, Some(3)));
    }

    #[test]
    fn what_was_not_written_is_still_there() {
        let mut intake = intake(&[(2, 0), (4, 0)]);
        let before = cut(&intake);
        intake.postpone(NOW_TIME);
        assert_eq!((cut(&intake), before), (Some((1, 3, 1)), Some((1, 3, 1))));
        intake.progress(9, NOW_TIME);
        assert_eq!(cut(&intake), Some((1, 9, 2)));
    }

    #[test]
    fn revisions_arrive_with_their_first_change_and_are_written_once() {
        let mut intake = Intake::default();
        intake.begin_after(1);
        let take = |intake: &mut Intake, time: i64, changes: &[(i64, i64)]| {
            intake.arriving(Some((time, 10)));
            changes.iter().for_each(|&(revision, sub)| intake.change(&event(revision, sub), NOW_TIME).unwrap());
        };
        let arrivals = |intake: &Intake| -> Vec<(i64, i64, i64)> {
            let cut = intake.cut().map(|cut| cut.arrivals).unwrap_or_default();
            cut.iter().map(|arrival| (arrival.from.0, arrival.to.0, arrival.time)).collect()
        };
        take(&mut intake, 100, &[(2, 0), (3, 0), (4, 0)]);
        assert_eq!(arrivals(&intake), [(2, 3, 100)], "revision 4 may have more changes");
        intake.written(NOW_TIME);
        take(&mut intake, 200, &[(4, 1), (5, 0)]);
        assert_eq!(arrivals(&intake), [(4, 4, 100)]);
        intake.arriving(None);
        intake.begin(6, NOW_TIME).unwrap();
        intake.pause(NOW_TIME);
        assert_eq!(arrivals(&intake), [(4, 4, 100), (5, 5, 200)]);
        intake.begin_after(5);
        assert_eq!(arrivals(&intake), []);
    }

    #[test]
    fn what_goes_back_is_refused() {
        let mut intake = intake(&[(2, 0), (5, 0)]);
        for (revision, sub) in [(5, 0), (4, 0), (2, 0)] {
            assert!(intake.change(&event(revision, sub), NOW_TIME).is_err(), "{revision}");
        }
        intake.pause(NOW_TIME);
        assert_eq!(intake.change(&event(5, 1), NOW_TIME), Err(Disorder { revision: 5, reached: 5 }));
        assert_eq!(intake.begin(5, NOW_TIME), Err(Disorder { revision: 5, reached: 5 }));
        intake.progress(3, NOW_TIME);
        assert_eq!(cut(&intake), Some((1, 5, 2)));
    }
}
