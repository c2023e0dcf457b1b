//! A change as it lies in a chunk: one byte for its kind, its place in its revision, and etcd's own `mvccpb.KeyValue`; before these, where the version
//! that it replaced is known by its revision alone, that. Behind the changes of a chunk
//! stands when its revisions arrived.

use bytes::{Buf, Bytes};
use prost::Message;
use prost::encoding::{decode_varint, encode_varint};

use crate::proto::mvccpb;
use crate::{Arrival, Event, EventKind, KeyValue, Origin, Revision, Sources};

const PUT_RECORD: u8 = 0;
const DELETE_RECORD: u8 = 1;
const ARRIVAL_RECORD: u8 = 2;
/// A put, with the revision of the version that it replaced.
const REPLACING_RECORD: u8 = 3;

/// Adds a change to `out`.
pub(super) fn write(kind: EventKind, sub: i64, entry: &KeyValue, out: &mut Vec<u8>) {
    let message = mvccpb::KeyValue {
        key: entry.key.clone(),
        create_revision: entry.create_revision.0,
        mod_revision: entry.mod_revision.0,
        version: entry.version,
        value: entry.value.clone(),
        lease: entry.lease,
    };
    match kind {
        EventKind::Put if entry.replaced > Revision(0) => {
            out.push(REPLACING_RECORD);
            encode_varint(entry.replaced.0.cast_unsigned(), out);
        }
        EventKind::Put => out.push(PUT_RECORD),
        EventKind::Delete => out.push(DELETE_RECORD),
    }
    encode_varint(sub.cast_unsigned(), out);
    encode_varint(message.encoded_len() as u64, out);
    // A vector takes any number of bytes.
    let _ = message.encode(out);
}

/// Adds to `out` when some revisions arrived.
pub(super) fn write_arrival(arrival: &Arrival, out: &mut Vec<u8>) {
    let Arrival { from, to, time, delay } = *arrival;
    out.push(ARRIVAL_RECORD);
    [from.0, to.0 - from.0, time, delay].into_iter().for_each(|number| encode_varint(number.cast_unsigned(), out));
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RecordedChanges {
    pub events: Vec<Event>,
    /// When revisions arrived.
    pub arrivals: Vec<Arrival>,
}

/// Reads the changes of a chunk; `None` where they are not as they are written.
pub(super) fn read_all(mut bytes: Bytes) -> Option<RecordedChanges> {
    let mut recorded = RecordedChanges::default();
    while bytes.has_remaining() {
        match bytes.get_u8() {
            PUT_RECORD => recorded.events.push(read(EventKind::Put, &mut bytes)?),
            REPLACING_RECORD => {
                let replaced = i64::try_from(decode_varint(&mut bytes).ok()?).ok().filter(|revision| *revision > 0)?;
                let mut event = read(EventKind::Put, &mut bytes)?;
                event.key_value.replaced = Revision(replaced);
                recorded.events.push(event);
            }
            DELETE_RECORD => recorded.events.push(read(EventKind::Delete, &mut bytes)?),
            ARRIVAL_RECORD => recorded.arrivals.push(read_arrival(&mut bytes)?),
            _ => return None,
        }
    }
    Some(recorded)
}

fn read_arrival(bytes: &mut Bytes) -> Option<Arrival> {
    let mut number = || i64::try_from(decode_varint(bytes).ok()?).ok();
    let (from, length, time, delay) = (number()?, number()?, number()?, number()?);
    let to = from.checked_add(length)?;
    (from > 0 && delay <= time).then_some(Arrival { from: Revision(from), to: Revision(to), time, delay })
}

fn read(kind: EventKind, bytes: &mut Bytes) -> Option<Event> {
    let sub = i64::try_from(decode_varint(bytes).ok()?).ok()?;
    let length = usize::try_from(decode_varint(bytes).ok()?).ok().filter(|&length| length <= bytes.len())?;
    // Key and value are copied: one that is kept must not keep its chunk.
    let message = mvccpb::KeyValue::decode(&bytes.split_to(length)[..]).ok()?;
    let revision = Revision(message.mod_revision);
    if message.key.is_empty() || message.mod_revision < 1 {
        return None;
    }
    let key_value = KeyValue {
        key: message.key,
        value: message.value,
        create_revision: Revision(message.create_revision),
        mod_revision: revision,
        version: message.version,
        replaced: Revision(0),
        lease: message.lease,
    };
    Some(Event { revision, sub_revision: sub, kind, key_value, origin: Origin::Recording, sources: Sources::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let put = KeyValue {
            key: Bytes::from_static(b"/registry/pods/a/b"),
            value: Bytes::from_static(b"k8s\0value"),
            create_revision: Revision(3),
            mod_revision: Revision(9),
            version: 4,
            replaced: Revision(0),
            lease: -7,
        };
        let replacing = KeyValue { create_revision: Revision(0), version: 0, replaced: Revision(7), ..put.clone() };
        let deleted = KeyValue { value: Bytes::new(), create_revision: Revision(0), version: 0, lease: 0, ..put.clone() };
        let mut bytes = Vec::new();
        write(EventKind::Put, 0, &put, &mut bytes);
        write(EventKind::Put, 1, &replacing, &mut bytes);
        write(EventKind::Delete, 300, &deleted, &mut bytes);
        let arrival = Arrival { from: Revision(9), to: Revision(300), time: 1_795_212_000_123_456, delay: 412 };
        write_arrival(&arrival, &mut bytes);
        let RecordedChanges { events, arrivals } = read_all(bytes.into()).unwrap();
        assert_eq!(arrivals, [arrival]);
        assert_eq!(events.iter().map(|event| &event.key_value).collect::<Vec<_>>(), [&put, &replacing, &deleted]);
        assert_eq!((events[0].kind, events[2].kind, events[2].sub_revision), (EventKind::Put, EventKind::Delete, 300));
        assert_eq!(read_all(Bytes::from_static(&[0, 0, 3, 1])), None);
        // An arrival of no revision, one that was committed before 1970, and one that is cut off.
        for wrong in [&[2, 0, 0, 5, 1][..], &[2, 1, 0, 5, 6], &[2, 1, 0, 5]] {
            assert_eq!(read_all(Bytes::copy_from_slice(wrong)), None, "{wrong:?}");
        }
        for wrong in [&[4][..], &[3], &[3, 0, 0, 0]] {
            assert_eq!(read_all(Bytes::copy_from_slice(wrong)), None, "{wrong:?}");
        }
    }
}
