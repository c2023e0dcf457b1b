//! Watch responses into changes: fragments joined, whole revisions only, each change once.

use bytes::Bytes;
use etcd_client::proto::{PbEvent, PbWatchResponse};

use super::range::key_value;
use crate::{Event, EventKind, KeyValue, Origin, Revision, Sources};

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
}

impl Assembler {
    pub(super) fn new(from: Revision) -> Self {
        Self { next: from, held: Vec::new() }
    }

    /// The first revision not yet passed on.
    pub(super) fn next(&self) -> Revision {
        self.next
    }

    /// Takes a response's events; returns those of complete revisions.
    pub(super) fn accept(&mut self, response: PbWatchResponse) -> Vec<Event> {
        let mut complete = Vec::with_capacity(response.events.len());
        for event in response.events {
            let Some(event) = convert(event) else { continue };
            if event.revision < self.next {
                continue;
            }
            if self.held.last().is_some_and(|held| held.revision < event.revision) {
                self.release(&mut complete);
            }
            self.held.push(Event { sub_revision: self.held.len() as i64, ..event });
        }
        if !response.fragment {
            self.release(&mut complete);
        }
        complete
    }

    /// Nothing else happened up to `revision`.
    pub(super) fn advance(&mut self, revision: Revision) {
        self.next = self.next.max(revision.after());
    }

    /// Nothing before `revision` will come.
    pub(super) fn skip_to(&mut self, revision: Revision) {
        self.next = revision;
        self.held.clear();
    }

    /// The connection is lost: the incomplete revision will come again.
    pub(super) fn forget_incomplete(&mut self) {
        self.held.clear();
    }

    fn release(&mut self, complete: &mut Vec<Event>) {
        if let Some(last) = self.held.last() {
            self.next = last.revision.after();
            complete.append(&mut self.held);
        }
    }
}

fn convert(event: PbEvent) -> Option<Event> {
    /// `mvccpb.Event.EventType.DELETE`.
    const DELETE: i32 = 1;
    let kv = event.kv?;
    let revision = Revision(kv.mod_revision);
    let (kind, key_value) = if event.r#type == DELETE {
        let mut deleted = key_value(kv);
        deleted.value = Bytes::new();
        (EventKind::Delete, KeyValue { create_revision: Revision(0), version: 0, lease: 0, ..deleted })
    } else {
        (EventKind::Put, key_value(kv))
    };
    Some(Event { revision, sub_revision: 0, kind, key_value, origin: Origin::Live, sources: Sources::default() })
}

#[cfg(test)]
mod tests {
    use etcd_client::proto::PbKeyValue;

    use super::*;

    fn response(revisions: &[i64], fragment: bool) -> PbWatchResponse {
        let events = revisions
            .iter()
            .map(|revision| PbEvent {
                r#type: 0,
                kv: Some(PbKeyValue { key: b"k".to_vec(), mod_revision: *revision, ..PbKeyValue::default() }),
                prev_kv: None,
            })
            .collect();
        PbWatchResponse { events, fragment, ..PbWatchResponse::default() }
    }

    fn check(assembler: &mut Assembler, revisions: &[i64], fragment: bool, expected: &[(i64, i64)]) {
        let events = assembler.accept(response(revisions, fragment));
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
    fn progress_never_goes_back() {
        let mut assembler = Assembler::new(Revision(5));
        assembler.advance(Revision(9));
        assembler.advance(Revision(7));
        assert_eq!(assembler.next(), Revision(10));
    }
}
