//! What every object has: when it was made and written, its labels and annotations, its owners, and whether it is being deleted.

use serde_json::Value;

use super::page::Page;
use super::{DescribedOwner, Description, Look};
use crate::table::fields::{at, int, joined, text};
use crate::value::cut;

/// Annotations that repeat the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Columns of an annotation's value on a terminal.
const MAX_ANNOTATION_COLUMNS: usize = 120;

pub(super) fn add(description: &Description, look: Look<'_>, page: &mut Page) {
    let object: &Value = &description.object;
    let created = text(object, "metadata.creationTimestamp");
    page.field(0, "Created", with_ago(created, &look.ago(at(object, "metadata.creationTimestamp"))));
    page.field(0, "Last written", format!("at revision {}", description.revision));
    page.field(0, "Deleting", deleting(object, look));
    page.field(0, "Finalizers", joined(object, "metadata.finalizers").replace(',', ", "));
    page.field(0, "Owned by", owners(&description.owners));
    page.list(0, "Labels", pairs(at(object, "metadata.labels"), usize::MAX));
    page.list(0, "Annotations", pairs(at(object, "metadata.annotations"), look.width.map_or(usize::MAX, |_| MAX_ANNOTATION_COLUMNS)));
}

/// A time, and how long ago that was.
fn with_ago(time: &str, ago: &str) -> String {
    if ago.is_empty() { time.to_owned() } else { format!("{time} ({ago})") }
}

fn deleting(object: &Value, look: Look<'_>) -> String {
    let Some(end) = at(object, "metadata.deletionTimestamp") else { return String::new() };
    let grace = int(object, "metadata.deletionGracePeriodSeconds");
    format!("since {} (grace {grace}s, ends {})", look.ago_before(end, grace), end.as_str().unwrap_or_default())
}

impl Look<'_> {
    /// How long ago a time was less some seconds; the time itself, where now is not known.
    fn ago_before(self, time: &Value, seconds: i64) -> String {
        let begin = crate::table::fields::time(Some(time)).and_then(|time| time.checked_sub(jiff::SignedDuration::from_secs(seconds)).ok());
        match (begin, self.now) {
            (None, _) => "an unknown time".to_owned(),
            (Some(begin), None) => begin.to_string(),
            (Some(begin), now) => crate::table::age(now, begin),
        }
    }
}

/// `ReplicaSet/web-7d9, which Deployment/web owns`.
fn owners(owners: &[DescribedOwner]) -> String {
    let name = |owner: &DescribedOwner| {
        let gone = if owner.found { "" } else { " (not found)" };
        format!("{}/{}{gone}", text(&owner.reference, "kind"), text(&owner.reference, "name"))
    };
    owners.iter().map(name).collect::<Vec<_>>().join(" ← ")
}

/// `a=b`, one per line; for a value of several lines, its length in bytes is shown.
pub(super) fn pairs(map: Option<&Value>, width: usize) -> Vec<String> {
    let map = map.and_then(Value::as_object).into_iter().flatten();
    let shown = map.filter(|(key, _)| *key != LAST_APPLIED);
    shown.map(|(key, value)| cut(&format!("{key}={}", value.as_str().unwrap_or_default()), width)).collect()
}
