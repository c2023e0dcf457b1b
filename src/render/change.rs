//! Changes as JSON, one a line: `history -o ndjson`, `watch -o ndjson`.

use std::io::{self, Write};

use json_patch::Patch;
use serde::Serialize;
use serde_json::Value;

use ketcd_history::{Actor, AttributedChange, ObjectVersion};
use ketcd_store::Origin;

/// How much of an object is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Keep managedFields, which kubectl leaves out.
    pub managed_fields: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    revision: i64,
    sub_revision: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    key: std::borrow::Cow<'a, str>,
    time: Option<String>,
    time_error_seconds: Option<f64>,
    source: &'static str,
    by: Option<String>,
    by_from: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a Value>,
    patch: Option<Patch>,
}

/// Whether a line carries the object or only the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// Both.
    Object,
    /// The patch alone, as in a timeline.
    PatchOnly,
}

/// Writes one change as one JSON document, without a line end. What `shown` leaves out is gone from `told` afterwards.
///
/// # Errors
/// The stream's.
pub fn write_json(told: &mut AttributedChange, shown: Shown, with: With, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, &line(told, shown, with))?)
}

/// One change as a JSON value, as [`write_json`] writes it.
pub fn to_value(told: &mut AttributedChange, shown: Shown, with: With) -> Value {
    serde_json::to_value(line(told, shown, with)).unwrap_or(Value::Null)
}

fn line(told: &mut AttributedChange, shown: Shown, with: With) -> Line<'_> {
    if !shown.managed_fields {
        told.change.before.remove_managed_fields();
        told.change.after.remove_managed_fields();
    }
    let patch = told.change.patch();
    let AttributedChange { change, dated, actor } = told;
    Line {
        revision: change.revision.0,
        sub_revision: change.sub_revision,
        kind: change.kind.as_str(),
        key: String::from_utf8_lossy(&change.key),
        time: dated.map(|dated| time(dated.time)),
        time_error_seconds: dated.map(|dated| dated.error),
        source: origin(change.origin),
        by: actor.as_ref().map(Actor::to_string),
        by_from: actor.as_ref().map(|actor| actor.from.as_str()),
        error: if let ObjectVersion::Opaque(opaque) = &change.after { Some(&opaque.reason) } else { None },
        object: (with == With::Object).then(|| change.after.object().unwrap_or(&Value::Null)),
        patch,
    }
}

/// The word for where a change was read.
pub fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Live => "live",
        Origin::Db => "db",
        Origin::Wal => "wal",
        Origin::Recording => "recording",
        Origin::FreePage => "freepage",
        Origin::Objects => "objects",
    }
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
