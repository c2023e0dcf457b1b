//! From an object to the key a scheduler's informers file it under.

use ketcd_scheduler::cluster::{ObjectKey, WatchedKind};
use serde_json::Value;

/// The key of an object. Panics on a kind that no scheduler watches, so that no object of a file is left out unseen.
pub(crate) fn object_key(object: &Value) -> ObjectKey {
    let kind = object["kind"].as_str().unwrap_or_else(|| panic!("an object without kind: {object}"));
    let watched = WatchedKind::ALL.iter().copied().find(|watched| watched.name() == kind);
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
    ObjectKey { kind: watched.unwrap_or_else(|| panic!("no scheduler watches a {kind}")), namespace: text("namespace"), name: text("name") }
}
