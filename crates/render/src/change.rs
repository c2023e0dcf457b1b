//! Changes as JSON, one per line: `history -o ndjson`, `watch -o ndjson`.

use std::io::{self, Write};

use super::contract::change::Change;
use super::contract::common::{ActorFrom, KubernetesObject, Time};
use ketcd_history::diff::ManagedFields;
use ketcd_history::{Actor, AttributedChange, ObjectVersion};

/// Writes one change as one JSON document, without a line end.
///
/// # Errors
/// The stream's.
pub fn write_json(change: &AttributedChange, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, &document(change, managed_fields))?)
}

/// Appends one change as [`write_json`] writes it, whose object after the change is `text` and may be incomplete in `change`.
pub fn append_json(change: &AttributedChange, text: Option<&[u8]>, managed_fields: ManagedFields, out: &mut Vec<u8>) {
    /// What comes last of a change without them.
    const LAST: &[u8] = br#""object":null,"patch":null}"#;
    let mut document = document(change, managed_fields);
    document.object = None;
    let patch = document.patch.take();
    serde_json::to_writer(&mut *out, &document).expect("writing to memory");
    debug_assert!(out.ends_with(LAST));
    out.truncate(out.len() - LAST.len());
    out.extend_from_slice(br#""object":"#);
    out.extend_from_slice(text.unwrap_or(b"null"));
    out.extend_from_slice(br#","patch":"#);
    serde_json::to_writer(&mut *out, &patch).expect("writing to memory");
    out.push(b'}');
}

/// One change as a document.
pub fn document(change: &AttributedChange, managed_fields: ManagedFields) -> Change<'_> {
    let AttributedChange { change, dated, actor } = change;
    Change {
        revision: change.revision.0,
        sub_revision: change.sub_revision,
        kind: change.kind.into(),
        key: String::from_utf8_lossy(&change.key),
        time: Time::of(*dated),
        time_error_seconds: dated.map(|dated| dated.error),
        source: change.origin.into(),
        sources: change.sources.names().iter().map(AsRef::as_ref).collect(),
        by: actor.as_ref().map(Actor::to_string),
        by_from: ActorFrom::of(actor.as_ref()),
        error: if let ObjectVersion::Opaque(opaque) = &change.after { Some(&opaque.reason) } else { None },
        object: change.after.object().map(|object| KubernetesObject { object, managed_fields }),
        patch: change.patch(managed_fields),
    }
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
