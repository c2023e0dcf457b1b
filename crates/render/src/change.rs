//! Changes as JSON, one per line: `history -o ndjson`, `watch -o ndjson`.

use std::io::{self, Write};

use super::contract::change::{Change, ChangeWithObject};
use super::contract::common::KubernetesObject;
use ketcd_cluster::kinds::KeySubject;
use ketcd_history::AttributedChange;
use ketcd_history::diff::ManagedFields;

/// How changes are written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonOptions {
    /// Whether managedFields are shown.
    pub managed_fields: ManagedFields,
    /// Whether each change has the whole object.
    pub objects: bool,
}

/// Writes one change of an object as one JSON document, without a line end.
///
/// # Errors
/// The stream's.
pub fn write_json(change: &AttributedChange, subject: &KeySubject, options: JsonOptions, out: &mut dyn Write) -> io::Result<()> {
    let managed_fields = options.managed_fields;
    let document = Change::new(change, subject, managed_fields);
    if !options.objects {
        return Ok(serde_json::to_writer(out, &document)?);
    }
    let object = change.change.after.object().map(|object| KubernetesObject { object, managed_fields });
    Ok(serde_json::to_writer(out, &ChangeWithObject { change: document, object })?)
}

/// Appends one change as [`write_json`] writes it, whose object after the change is `text` and may be incomplete in `change`.
pub fn append_json(change: &AttributedChange, subject: &KeySubject, text: Option<&[u8]>, options: JsonOptions, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, &Change::new(change, subject, options.managed_fields)).expect("writing to memory");
    if options.objects {
        let end = out.pop();
        debug_assert_eq!(end, Some(b'}'));
        out.extend_from_slice(br#","object":"#);
        out.extend_from_slice(text.unwrap_or(b"null"));
        out.push(b'}');
    }
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
