//! A change as it lies in a chunk: one byte for its kind, its place in its revision, and etcd's own `mvccpb.KeyValue`.

use bytes::{Buf, Bytes};
use prost::Message;
use prost::encoding::{decode_varint, encode_varint};

use crate::proto::mvccpb;
use crate::{Event, EventKind, KeyValue, Origin, Revision, Sources};

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
    out.push(match kind {
        EventKind::Put => 0,
        EventKind::Delete => 1,
    });
    encode_varint(sub.cast_unsigned(), out);
    encode_varint(message.encoded_len() as u64, out);
    // A vector takes any number of bytes.
    let _ = message.encode(out);
}

/// Reads the changes of a chunk; `None` where they are not as they are written.
pub(super) fn read_all(mut bytes: Bytes) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    while bytes.has_remaining() {
        events.push(read(&mut bytes)?);
    }
    Some(events)
}

fn read(bytes: &mut Bytes) -> Option<Event> {
    let kind = match bytes.get_u8() {
        0 => EventKind::Put,
        1 => EventKind::Delete,
        _ => return None,
    };
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
        let deleted = KeyValue { value: Bytes::new(), create_revision: Revision(0), version: 0, lease: 0, ..put.clone() };
        let mut bytes = Vec::new();
        write(EventKind::Put, 0, &put, &mut bytes);
        write(EventKind::Delete, 300, &deleted, &mut bytes);
        let events = read_all(bytes.into()).unwrap();
        assert_eq!(events.iter().map(|event| &event.key_value).collect::<Vec<_>>(), [&put, &deleted]);
        assert_eq!((events[0].kind, events[1].kind, events[1].sub_revision), (EventKind::Put, EventKind::Delete, 300));
        assert_eq!(read_all(Bytes::from_static(&[0, 0, 3, 1])), None);
    }
}
