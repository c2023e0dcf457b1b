//! Checks a watch's stream against the request: answers of this watch only, its keys only, its revisions in order.

use std::time::Duration;

use tokio::time::Instant;

use crate::etcd::answer::{Untrue, modified, newest, plausible, version};
use crate::proto::etcdserverpb::WatchResponse;
use crate::proto::mvccpb::Event;
use crate::proto::mvccpb::event::EventType;
use crate::{KeyRange, Revision};

/// The id of answers that are of no watch or of all of a stream (client/v3/watch.go, `InvalidWatchID`).
const NO_WATCH: i64 = -1;
/// The most answers without news within this time; an etcd sends fewer. It answers each progress request once, and may report progress by itself
/// every few hundred milliseconds.
const MOST_IDLE: u32 = 10_000;
const IDLE_WITHIN: Duration = Duration::from_secs(60);

/// What may come next on one stream.
#[derive(Debug)]
pub(super) struct Expected {
    keys: KeyRange,
    id: i64,
    /// The newest revision when the watch began.
    begun_at: Revision,
    /// The oldest revision of which a change may still come.
    from: Revision,
    /// Since when answers without news are counted, and how many there were.
    idle: (Instant, u32),
}

impl Expected {
    /// Begins with etcd's confirmation of a watch of `keys`.
    pub(super) fn new(keys: KeyRange, created: &WatchResponse) -> Result<Self, Untrue> {
        if !created.created && !created.canceled {
            return Err(Untrue::new("sent changes before it confirmed the watch"));
        }
        if !created.events.is_empty() {
            return Err(Untrue::new("sent changes with the confirmation of a watch"));
        }
        let begun_at = if created.canceled { Revision(0) } else { newest(created.header.as_ref())? };
        Ok(Self { keys, id: created.watch_id, begun_at, from: Revision(0), idle: (Instant::now(), 0) })
    }

    /// Checks an answer after the confirmation; returns the newest revision that its header names. An answer that ends the watch names none.
    pub(super) fn check(&mut self, answer: &WatchResponse) -> Result<Revision, Untrue> {
        let of_no_watch = answer.watch_id == NO_WATCH && answer.events.is_empty();
        if answer.watch_id != self.id && !of_no_watch {
            return Err(Untrue::new("sent answers of a watch that was not asked for"));
        }
        if answer.created {
            return Err(Untrue::new("confirmed a watch twice"));
        }
        if answer.compact_revision != 0 {
            plausible(answer.compact_revision)?;
        }
        if answer.canceled || answer.compact_revision != 0 {
            return Ok(Revision(0));
        }
        let newest = newest(answer.header.as_ref())?;
        let before = self.from;
        for event in &answer.events {
            self.event(event, newest)?;
        }
        match (answer.events.is_empty(), answer.fragment) {
            // A change of this revision came before: the answer is whole, and so is the revision.
            (false, false) => self.from = self.from.after(),
            (false, true) => {}
            // Progress: no more changes up to here.
            (true, _) => self.from = self.from.max(newest.after()),
        }
        self.count_idle(self.from > before)?;
        Ok(newest)
    }

    fn event(&mut self, event: &Event, newest: Revision) -> Result<(), Untrue> {
        let kv = event.kv.as_ref().ok_or_else(|| Untrue::new("sent a change of no key"))?;
        modified(kv, newest)?;
        match EventType::try_from(event.r#type) {
            Ok(EventType::Put) => version(kv, newest.max(self.begun_at))?,
            Ok(EventType::Delete) => {}
            Err(_) => return Err(Untrue::new("sent a change that is neither a put nor a deletion")),
        }
        if !self.keys.contains(&kv.key) {
            return Err(Untrue::new("sent changes of keys that were not asked for"));
        }
        let revision = Revision(kv.mod_revision);
        if revision < self.from {
            let passed = self.from.before();
            return Err(Untrue::new(format!("sent a change of revision {revision} after all changes up to revision {passed} had come")));
        }
        self.from = revision;
        Ok(())
    }

    fn count_idle(&mut self, has_news: bool) -> Result<(), Untrue> {
        if has_news || self.idle.0.elapsed() > IDLE_WITHIN {
            self.idle = (Instant::now(), 0);
        }
        self.idle.1 += 1;
        if self.idle.1 > MOST_IDLE { Err(Untrue::new("sends empty answers without end")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::etcdserverpb::ResponseHeader;
    use crate::proto::mvccpb::KeyValue;

    const WATCH_ID: i64 = 3;

    fn answer(newest: i64, revisions: &[i64]) -> WatchResponse {
        let event = |revision: &i64| Event {
            kv: Some(KeyValue {
                key: "/k/a".into(),
                create_revision: 1,
                mod_revision: *revision,
                version: (*revision).min(2),
                ..KeyValue::default()
            }),
            ..Event::default()
        };
        WatchResponse {
            header: Some(ResponseHeader { revision: newest, ..ResponseHeader::default() }),
            watch_id: WATCH_ID,
            events: revisions.iter().map(event).collect(),
            ..WatchResponse::default()
        }
    }

    fn begun() -> Expected {
        Expected::new(KeyRange::prefix("/k/"), &WatchResponse { created: true, ..answer(9, &[]) }).unwrap()
    }

    /// The answers, and what is wrong with the last of them.
    fn check(answers: impl IntoIterator<Item = WatchResponse>, expected: &str) {
        let mut stream = begun();
        let mut answers: Vec<WatchResponse> = answers.into_iter().collect();
        let last = answers.pop().unwrap();
        for answer in answers {
            stream.check(&answer).unwrap();
        }
        assert_eq!(stream.check(&last).unwrap_err().problem(), expected);
    }

    #[test]
    fn what_an_etcd_sends_passes() {
        let mut stream = begun();
        let fragment = |revisions: &[i64]| WatchResponse { fragment: true, ..answer(30, revisions) };
        let all = WatchResponse { watch_id: NO_WATCH, ..answer(30, &[]) };
        for answer in [answer(9, &[]), answer(20, &[10, 12, 12]), fragment(&[13, 14]), fragment(&[14]), answer(30, &[14, 15]), all] {
            stream.check(&answer).unwrap();
        }
        // A compaction is announced with a header of revision 0.
        let compacted = WatchResponse { compact_revision: 12, canceled: true, ..answer(0, &[]) };
        assert_eq!(stream.check(&compacted), Ok(Revision(0)));
    }

    #[test]
    fn what_no_etcd_sends_is_refused() {
        let passed =
            |revision: i64, upto: i64| format!("sent a change of revision {revision} after all changes up to revision {upto} had come");
        check([answer(20, &[12, 11])], &passed(11, 11));
        check([answer(20, &[12]), answer(20, &[12])], &passed(12, 12));
        check([answer(20, &[]), answer(21, &[20])], &passed(20, 20));
        check([answer(20, &[21])], "sent a change of revision 21, where the newest is 20");
        check([answer(20, &[-1])], "sent -1, which cannot be a revision");
        check([answer(i64::MAX, &[])], "sent 9223372036854775807, which cannot be a revision");
        check([WatchResponse { header: None, ..answer(20, &[]) }], "sent no header, which has the newest revision");
        check([WatchResponse { watch_id: 7, ..answer(20, &[12]) }], "sent answers of a watch that was not asked for");
        check([WatchResponse { watch_id: NO_WATCH, ..answer(20, &[12]) }], "sent answers of a watch that was not asked for");
        check([WatchResponse { created: true, ..answer(20, &[]) }], "confirmed a watch twice");
        check([WatchResponse { compact_revision: -4, ..answer(20, &[]) }], "sent -4, which cannot be a revision");
        check((0..=MOST_IDLE).map(|_| answer(9, &[])), "sends empty answers without end");
        let with = |change: fn(&mut Event)| {
            let mut answer = answer(20, &[12]);
            change(&mut answer.events[0]);
            [answer]
        };
        check(with(|event| event.kv = None), "sent a change of no key");
        check(with(|event| event.r#type = 2), "sent a change that is neither a put nor a deletion");
        check(with(|event| event.kv.as_mut().unwrap().key = "/l/a".into()), "sent changes of keys that were not asked for");
        check(with(|event| event.kv.as_mut().unwrap().version = 40), "sent a key that was written more often than there are revisions");
        assert!(Expected::new(KeyRange::all(), &answer(20, &[12])).is_err(), "no confirmation");
    }
}
