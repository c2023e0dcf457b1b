//! Changes as JSON, one per line: `history -o ndjson`, `watch -o ndjson`.

use super::contract::change::Change;
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

/// Returns one change of an object as one JSON document, without a line end. `text` is the JSON of the object after it, where `change` holds less.
pub fn json(change: &AttributedChange, subject: &KeySubject, text: Option<&[u8]>, options: JsonOptions) -> Vec<u8> {
    let managed_fields = options.managed_fields;
    let mut out = serde_json::to_vec(&Change::new(change, subject, managed_fields)).expect("writing to memory");
    if options.objects {
        let end = out.pop();
        debug_assert_eq!(end, Some(b'}'));
        out.extend_from_slice(br#","object":"#);
        match text {
            Some(text) => out.extend_from_slice(text),
            None => {
                let object = change.change.after.object().map(|object| KubernetesObject { object, managed_fields });
                serde_json::to_writer(&mut out, &object).expect("writing to memory");
            }
        }
        out.push(b'}');
    }
    out
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
