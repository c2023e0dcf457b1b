//! Watch responses into changes: fragments joined, whole revisions only, each change once.

use bytes::Bytes;

use super::answer::Untrue;
use super::wire::key_value;
use crate::proto::etcdserverpb::WatchResponse;
use crate::proto::mvccpb::{self, event::EventType};
use crate::{Event, EventKind, KeyValue, Origin, Revision, Sources};

/// The most that is read of the changes of one revision, in bytes. What a transaction writes is one request, of 1.5 MiB unless `--max-request-bytes` raises it;
/// it may delete any number of keys.
pub const LARGEST_REVISION: usize = 128 << 20;

/// Joins the responses of a watch, across reconnections, into changes in order.
///
/// A response never splits a revision, but its fragments may; a revision is therefore held back until the next one begins or the
/// response is complete. What is held back when a connection is lost is asked for again.
#[derive(Debug)]
pub(super) struct Assembler {
    /// The first revision not yet passed on; where a new connection begins.
    next: Revision,
    /// Changes of the one revision that may be incomplete.
    held: Vec<Event>,
    bytes: usize,
}

impl Assembler {
    pub(super) fn new(from: Revision) -> Self {
        Self { next: from, held: Vec::new(), bytes: 0 }
    }

    /// The first revision not yet passed on.
    pub(super) fn next(&self) -> Revision {
        self.next
    }

    /// Takes a response's events; returns those of complete revisions.
    ///
    /// # Errors
    /// A revision that is too large to be held, or that writes a key twice.
    pub(super) fn accept(&mut self, response: WatchResponse) -> Result<Vec<Event>, Untrue> {
        let mut complete = Vec::with_capacity(response.events.len());
        for event in response.events {
            let Some(event) = convert(event) else { continue };
            if event.revision < self.next {
                continue;
            }
            if self.held.last().is_some_and(|held| held.revision < event.revision) {
                self.release(&mut complete)?;
            }
            self.bytes += size_of::<Event>() + event.key_value.key.len() + event.key_value.value.len();
            if self.bytes > LARGEST_REVISION {
                return Err(Untrue::new(format!("sent more than {} MiB as the changes of one revision", LARGEST_REVISION >> 20)));
            }
            self.held.push(Event { sub_revision: self.held.len() as i64, ..event });
        }
        if !response.fragment {
            self.release(&mut complete)?;
        }
        Ok(complete)
    }

    /// Nothing else happened up to `revision`.
    pub(super) fn advance(&mut self, revision: Revision) {
        self.next = self.next.max(revision.after());
    }

    /// Nothing before `revision` will come.
    pub(super) fn skip_to(&mut self, revision: Revision) {
        self.next = revision;
        self.forget_incomplete();
    }

    /// The connection is lost: the incomplete revision will come again.
    pub(super) fn forget_incomplete(&mut self) {
        self.held.clear();
        self.bytes = 0;
    }

    fn release(&mut self, complete: &mut Vec<Event>) -> Result<(), Untrue> {
        self.bytes = 0;
        let Some(last) = self.held.last() else { return Ok(()) };
        self.next = last.revision.after();
        let mut keys: Vec<&Bytes> = self.held.iter().map(|event| &event.key_value.key).collect();
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Untrue::new("sent two changes of one key in one revision"));
        }
        complete.append(&mut self.held);
        Ok(())
    }
}

fn convert(event: mvccpb::Event) -> Option<Event> {
    let is_delete = event.r#type() == EventType::Delete;
    let kv = event.kv?;
    let revision = Revision(kv.mod_revision);
    let (kind, key_value) = if is_delete {
        let deleted = key_value(kv);
        let value = Bytes::new();
        (EventKind::Delete, KeyValue { value, create_revision: Revision(0), version: 0, lease: 0, ..deleted })
    } else {
        // A copy: to remember the last version of each key would otherwise keep all messages.
        let value = Bytes::copy_from_slice(&kv.value);
        (EventKind::Put, KeyValue { value, ..key_value(kv) })
    };
    Some(Event { revision, sub_revision: 0, kind, key_value, origin: Origin::Live, sources: Sources::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(revisions: &[i64], fragment: bool) -> WatchResponse {
        let events = revisions
            .iter()
            .enumerate()
            .map(|(place, revision)| {
                let key = format!("k{place}{fragment}").into();
                let kv = mvccpb::KeyValue { key, mod_revision: *revision, ..mvccpb::KeyValue::default() };
                mvccpb::Event { kv: Some(kv), ..mvccpb::Event::default() }
            })
            .collect();
        WatchResponse { events, fragment, ..WatchResponse::default() }
    }

    fn check(assembler: &mut Assembler, revisions: &[i64], fragment: bool, expected: &[(i64, i64)]) {
        let events = assembler.accept(response(revisions, fragment)).unwrap();
        let found: Vec<(i64, i64)> = events.iter().map(|event| (event.revision.0, event.sub_revision)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_revision_is_passed_on_whole() {
        let mut assembler = Assembler::new(Revision(5));
        check(&mut assembler, &[5, 6, 7, 7], true, &[(5, 0), (6, 0)]);
        assert_eq!(assembler.next(), Revision(7));
        check(&mut assembler, &[7, 8], true, &[(7, 0), (7, 1), (7, 2)]);
        check(&mut assembler, &[], false, &[(8, 0)]);
        assert_eq!(assembler.next(), Revision(9));
    }

    #[test]
    fn after_a_lost_connection_nothing_is_lost_or_repeated() {
        let mut assembler = Assembler::new(Revision(5));
        check(&mut assembler, &[5, 6], true, &[(5, 0)]);
        assembler.forget_incomplete();
        assert_eq!(assembler.next(), Revision(6));
        check(&mut assembler, &[5, 6, 6], false, &[(6, 0), (6, 1)]);
    }

    #[test]
    fn a_revision_without_end_and_one_that_writes_a_key_twice_are_refused() {
        let mut assembler = Assembler::new(Revision(5));
        let value = Bytes::from(vec![0; 1 << 20]);
        let fragment = |place: usize| {
            let mut fragment = response(&[5], true);
            let kv = fragment.events[0].kv.as_mut().unwrap();
            (kv.key, kv.value) = (format!("k{place}").into(), value.clone());
            fragment
        };
        let refused = (0..200).map(|place| assembler.accept(fragment(place))).position(|accepted| accepted.is_err());
        assert_eq!(refused, Some(127));
        assembler.forget_incomplete();
        assert_eq!(assembler.accept(fragment(0)), Ok(Vec::new()));
        let twice = WatchResponse { fragment: false, ..fragment(0) };
        assert_eq!(assembler.accept(twice), Err(Untrue::new("sent two changes of one key in one revision")));
    }

    #[test]
    fn a_change_does_not_keep_its_message() {
        let mut message = response(&[5], false);
        let value = Bytes::from(vec![7; 100]);
        message.events[0].kv.as_mut().unwrap().value = value.clone();
        let events = Assembler::new(Revision(5)).accept(message).unwrap();
        let kept = &events[0].key_value.value;
        assert!(*kept == value && kept.as_ptr() != value.as_ptr());
    }

    #[test]
    fn progress_never_goes_back() {
        let mut assembler = Assembler::new(Revision(5));
        assembler.advance(Revision(9));
        assembler.advance(Revision(7));
        assert_eq!(assembler.next(), Revision(10));
    }
}
