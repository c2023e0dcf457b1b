//! Puts the changes of many watches in order. It knows neither a server nor a clock.
//!
//! A watch tells only its own resource's revisions. Up to which revision all watches have brought everything is known in two ways. A watch has
//! brought all up to its last event or bookmark. And a change reaches all watches within seconds: what any of them brought ten seconds ago, the
//! others have passed by now, if their connections stood all the while. A change that comes later still is noticed, as it does not follow.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use ketcd_store::{Event, Revision};

/// How long a change is waited for.
pub(super) const SETTLE_TIME: Duration = Duration::from_secs(10);

/// How far one watch has come.
#[derive(Clone, Copy, Debug)]
struct WatchProgress {
    /// The revision of its last event or bookmark.
    proved: i64,
    /// Since when its connection stands.
    connected: Option<Duration>,
    /// Whether it brings nothing any more: its resource was removed.
    has_ended: bool,
}

/// The changes that came and have not been passed on.
#[derive(Debug)]
pub(super) struct Order {
    streams: Vec<WatchProgress>,
    pending: BTreeMap<(i64, Bytes), Event>,
    waiting: usize,
    /// The newest revisions that came, each with when it did; ascending.
    seen: VecDeque<(Duration, i64)>,
    passed: i64,
}

/// A change that came after all of its revision had been passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    pub revision: Revision,
}

impl Order {
    /// Begins after a revision, with this many watches, none of which is connected.
    pub(super) fn new(streams: usize, after: Revision) -> Self {
        let stream = WatchProgress { proved: after.0, connected: None, has_ended: false };
        Self { streams: vec![stream; streams], pending: BTreeMap::new(), waiting: 0, seen: VecDeque::new(), passed: after.0 }
    }

    pub(super) fn passed(&self) -> Revision {
        Revision(self.passed)
    }

    /// The newest revision that came.
    pub(super) fn newest(&self) -> Revision {
        Revision(self.seen.back().map_or(self.passed, |seen| seen.1))
    }

    /// Notes that a watch is connected, or is not any more.
    pub(super) fn connection(&mut self, stream: usize, is_there: bool, now: Duration) {
        self.streams[stream].connected = is_there.then_some(now);
    }

    /// Notes that a watch brings nothing any more.
    pub(super) fn end(&mut self, stream: usize) {
        self.streams[stream].has_ended = true;
    }

    /// Takes a change that a watch brought.
    ///
    /// # Errors
    ///
    /// It comes too late.
    pub(super) fn event(&mut self, stream: usize, event: Event, now: Duration) -> Result<(), Late> {
        let revision = event.revision;
        if revision.0 <= self.passed {
            return Err(Late { revision });
        }
        self.bookmark(stream, revision, now);
        self.waiting += size(&event);
        let before = self.pending.insert((revision.0, event.key_value.key.clone()), event);
        self.waiting -= before.as_ref().map_or(0, size);
        Ok(())
    }

    /// The bytes of all changes that have not been passed on.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The watch that is furthest behind, for which others wait.
    pub(super) fn last(&self) -> Option<usize> {
        let live = self.streams.iter().enumerate().filter(|(_, stream)| !stream.has_ended);
        live.min_by_key(|(_, stream)| stream.proved).map(|(place, _)| place)
    }

    /// Notes that a watch has brought all up to a revision.
    pub(super) fn bookmark(&mut self, stream: usize, revision: Revision, now: Duration) {
        let known = &mut self.streams[stream];
        known.proved = known.proved.max(revision.0);
        if revision > self.newest() {
            self.seen.push_back((now, revision.0));
        }
    }

    /// Up to which revision all watches have brought everything.
    fn complete(&self, now: Duration) -> i64 {
        let live = || self.streams.iter().filter(|stream| !stream.has_ended);
        let proved = live().map(|stream| stream.proved).min().unwrap_or(self.passed);
        let settled = now.checked_sub(SETTLE_TIME).and_then(|before| {
            let stood = live().all(|stream| stream.connected.is_some_and(|since| since <= before));
            let seen = self.seen.iter().take_while(|seen| seen.0 <= before).last();
            seen.filter(|_| stood).map(|seen| seen.1)
        });
        proved.max(settled.unwrap_or(0)).max(self.passed)
    }

    /// Takes the changes that can be passed on, ascending, and up to which revision these are all.
    pub(super) fn take(&mut self, now: Duration) -> (Vec<Event>, Revision) {
        let complete = self.complete(now);
        let rest = self.pending.split_off(&(complete + 1, Bytes::new()));
        let mut events: Vec<Event> = std::mem::replace(&mut self.pending, rest).into_values().collect();
        self.waiting -= events.iter().map(size).sum::<usize>();
        let mut last = (Revision(0), 0);
        for event in &mut events {
            last = if last.0 == event.revision { (last.0, last.1 + 1) } else { (event.revision, 0) };
            event.sub_revision = last.1;
        }
        while self.seen.len() > 1 && self.seen[1].0 + SETTLE_TIME <= now {
            self.seen.pop_front();
        }
        self.passed = complete;
        (events, Revision(complete))
    }
}

/// The bytes that a change takes while it waits.
fn size(event: &Event) -> usize {
    size_of::<Event>() + 2 * event.key_value.key.len() + event.key_value.value.len()
}

#[cfg(test)]
mod tests {
    use ketcd_store::{EventKind, KeyValue, Origin, Sources};

    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn event(revision: i64) -> Event {
        let (mod_revision, key) = (Revision(revision), Bytes::from(format!("/registry/a/{revision}")));
        let (create_revision, replaced) = (Revision(0), Revision(0));
        let key_value = KeyValue { key, value: Bytes::new(), create_revision, mod_revision, version: 0, replaced, lease: 0 };
        Event {
            revision: mod_revision,
            sub_revision: 0,
            kind: EventKind::Put,
            key_value,
            origin: Origin::ApiServer,
            sources: Sources::default(),
        }
    }

    fn taken(order: &mut Order, now: u64) -> (Vec<i64>, i64) {
        let (events, complete) = order.take(at(now));
        (events.iter().map(|event| event.revision.0).collect(), complete.0)
    }

    #[test]
    fn what_all_watches_have_passed_goes_on_in_order() {
        let mut order = Order::new(2, Revision(10));
        (0..2).for_each(|stream| order.connection(stream, true, at(0)));
        order.event(0, event(13), at(1)).unwrap();
        order.event(1, event(12), at(1)).unwrap();
        order.event(1, event(15), at(1)).unwrap();
        assert_eq!(taken(&mut order, 1), (vec![12, 13], 13));
        order.bookmark(0, Revision(20), at(2));
        assert_eq!(taken(&mut order, 2), (vec![15], 15));
        assert_eq!(order.newest(), Revision(20));
    }

    #[test]
    fn quiet_watches_are_waited_for_as_long_as_they_stand() {
        let mut order = Order::new(2, Revision(10));
        order.connection(0, true, at(0));
        order.connection(1, true, at(5));
        order.event(0, event(11), at(6)).unwrap();
        order.event(0, event(12), at(9)).unwrap();
        assert_eq!(taken(&mut order, 15), (vec![], 10));
        assert_eq!(taken(&mut order, 16), (vec![11], 11));
        order.connection(1, false, at(17));
        assert_eq!(taken(&mut order, 60), (vec![], 11));
        order.connection(1, true, at(60));
        assert_eq!(taken(&mut order, 69), (vec![], 11));
        assert_eq!(taken(&mut order, 70), (vec![12], 12));
    }

    #[test]
    fn a_change_that_comes_too_late_is_noticed() {
        let mut order = Order::new(2, Revision(10));
        (0..2).for_each(|stream| order.connection(stream, true, at(0)));
        order.event(0, event(12), at(1)).unwrap();
        assert_eq!(taken(&mut order, 30), (vec![12], 12));
        assert_eq!(order.event(1, event(11), at(30)), Err(Late { revision: Revision(11) }));
    }

    #[test]
    fn a_watch_that_ended_is_not_waited_for() {
        let mut order = Order::new(2, Revision(10));
        order.connection(0, true, at(0));
        order.event(0, event(12), at(1)).unwrap();
        order.end(1);
        assert_eq!(taken(&mut order, 1), (vec![12], 12));
    }
}
