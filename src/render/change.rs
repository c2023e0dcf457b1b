//! Changes as JSON, one a line: `history -o ndjson`, `watch -o ndjson`.

use std::io::{self, Write};

use super::contract::change::Change;
use super::contract::common::{ActorFrom, KubernetesObject, Time};
use ketcd_history::{Actor, AttributedChange, ObjectVersion};

/// How much of an object is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Keep managedFields, which kubectl leaves out.
    pub managed_fields: bool,
}

/// Writes one change as one JSON document, without a line end. What `shown` leaves out is gone from `told` afterwards.
///
/// # Errors
/// The stream's.
pub fn write_json(told: &mut AttributedChange, shown: Shown, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, &document(told, shown))?)
}

/// One change as a document.
pub fn document(told: &mut AttributedChange, shown: Shown) -> Change<'_> {
    if !shown.managed_fields {
        told.change.before.remove_managed_fields();
        told.change.after.remove_managed_fields();
    }
    let patch = told.change.patch();
    let AttributedChange { change, dated, actor } = told;
    Change {
        revision: change.revision.0,
        sub_revision: change.sub_revision,
        kind: change.kind.into(),
        key: String::from_utf8_lossy(&change.key),
        time: Time::of(*dated),
        time_error_seconds: dated.map(|dated| dated.error),
        source: change.origin.into(),
        by: actor.as_ref().map(Actor::to_string),
        by_from: ActorFrom::of(actor.as_ref()),
        error: if let ObjectVersion::Opaque(opaque) = &change.after { Some(&opaque.reason) } else { None },
        object: change.after.object().map(KubernetesObject),
        patch,
    }
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
