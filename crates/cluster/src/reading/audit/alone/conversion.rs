//! Objects as an API server stores them, where a body is of another version.

use serde_json::{Map, Value};

/// Returns the object as it is stored: Events of `events.k8s.io` are stored as those of the core group (kubernetes
/// `pkg/apis/core/v1/conversion.go` and `pkg/apis/events/v1/conversion.go`).
pub(super) fn stored(mut object: Value) -> Value {
    const RENAMED_FIELDS: [(&str, &str); 8] = [
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("reportingController", "reportingComponent"),
        ("reportingInstance", "reportingInstance"),
    ];
    let is_event = object["kind"] == "Event" && object["apiVersion"].as_str().is_some_and(|version| version.starts_with("events.k8s.io/"));
    let Some(members) = object.as_object_mut().filter(|_| is_event) else { return object };
    for (of_events, of_core) in RENAMED_FIELDS {
        if let Some(value) = members.remove(of_events) {
            members.insert(of_core.to_owned(), value);
        }
    }
    members.insert("apiVersion".to_owned(), "v1".into());
    // The core version writes these though they are empty.
    for (field, empty) in [("firstTimestamp", Value::Null), ("lastTimestamp", Value::Null), ("source", Value::Object(Map::new()))] {
        members.entry(field).or_insert(empty);
    }
    for field in ["reportingComponent", "reportingInstance"] {
        members.entry(field).or_insert_with(|| "".into());
    }
    object
}
