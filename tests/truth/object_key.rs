//! From an object to the key a scheduler's informers file it under.

use ketcd_scheduler::cluster::ObjectKey;
use serde_json::Value;

/// The key of an object. Panics on a kind that no scheduler watches, so that no object of a file is left out unseen.
pub(crate) fn object_key(object: &Value) -> ObjectKey {
    ObjectKey::of(object).unwrap_or_else(|| panic!("no scheduler watches a {}", object["kind"]))
}
