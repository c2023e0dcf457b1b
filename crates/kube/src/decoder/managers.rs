//! Who wrote a value last, by its managedFields, read where they are stored: nothing else of the object is decoded.

use serde::Deserialize;

use super::Decoder;
use super::envelope::Envelope;
use super::wire::{self, Reader, Span};

/// Fields of `ObjectMeta` and of `ManagedFieldsEntry` (k8s.io/apimachinery pkg/apis/meta/v1 generated.proto).
const METADATA: u32 = 1;
const MANAGED_FIELDS: u32 = 17;
const MANAGER: u32 = 1;
const TIME: u32 = 4;

impl Decoder {
    /// Returns the manager whose entry in managedFields has the newest time, of several the last; `None` where there is none, where the value is CBOR, and
    /// where it cannot be read. An entry gets a new time when its manager changes something.
    pub fn last_manager(&self, key: &[u8], value: &[u8]) -> Option<String> {
        let value = self.unsealed(key, value).ok()?;
        match Envelope::of(&value).ok()? {
            Envelope::Protobuf { object, .. } => of_protobuf(&value, object),
            Envelope::Json => of_json(&value),
            Envelope::Cbor | Envelope::Foreign => None,
        }
    }
}

/// A later one wins against an equal time: the API server sorts entries by time.
fn newest<T: Ord>(entries: impl Iterator<Item = (T, String)>) -> Option<String> {
    entries.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, manager)| manager)
}

fn of_protobuf(bytes: &[u8], object: Span) -> Option<String> {
    let metadata = fields(bytes, object, METADATA)?.pop()?;
    let entries = fields(bytes, metadata, MANAGED_FIELDS)?.into_iter();
    newest(entries.filter_map(|entry| {
        let manager = fields(bytes, entry, MANAGER)?.pop()?;
        let time = fields(bytes, entry, TIME)?.pop().and_then(|time| seconds(bytes, time));
        Some((time, String::from_utf8_lossy(&bytes[manager.start..manager.end]).into_owned()))
    }))
}

/// The payloads of a field of a message.
fn fields(bytes: &[u8], message: Span, wanted: u32) -> Option<Vec<Span>> {
    let mut reader = Reader::new(bytes, message);
    let mut found = Vec::new();
    while !reader.at_end() {
        let (number, wire_type) = reader.tag().ok()?;
        let payload = reader.skip(wire_type).ok()?;
        if number == wanted && wire_type == wire::LEN {
            found.push(payload);
        }
    }
    Some(found)
}

/// The seconds of a time.
fn seconds(bytes: &[u8], time: Span) -> Option<u64> {
    let mut reader = Reader::new(bytes, time);
    while !reader.at_end() {
        match reader.tag().ok()? {
            (1, wire::VARINT) => return reader.varint().ok(),
            (_, wire_type) => drop(reader.skip(wire_type).ok()?),
        }
    }
    None
}

#[derive(Deserialize)]
struct WithMetadata {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    managed_fields: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    manager: Option<String>,
    time: Option<String>,
}

fn of_json(value: &[u8]) -> Option<String> {
    let object: WithMetadata = serde_json::from_slice(value).ok()?;
    newest(object.metadata.managed_fields.into_iter().filter_map(|entry| Some((entry.time, entry.manager?))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::release::Release;

    #[test]
    fn the_newest_entry_wrote_last() {
        let entry = |manager: &str, time: &str| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}})
        };
        let entries =
            json!([entry("kubectl", "2026-11-20T22:00:05Z"), entry("helm", "2026-11-20T22:00:07Z"), entry("old", "2026-11-20T22:00:01Z")]);
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", "managedFields": entries}});
        let stored = crate::encode(&object, Release(36)).unwrap().unwrap();
        let last = |value: &[u8]| Decoder::new().last_manager(b"/registry/configmaps/b/a", value);
        assert_eq!(last(&stored).as_deref(), Some("helm"));
        assert_eq!(last(object.to_string().as_bytes()).as_deref(), Some("helm"));
        assert_eq!(last(br#"{"metadata": {}}"#), None);
        assert_eq!(last(b"1787"), None);
        assert_eq!(last(&stored[..stored.len() / 2]), None);
    }
}
