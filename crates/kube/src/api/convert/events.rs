//! Events between the core group and events.k8s.io, where some of their fields have other names.
//!
//! Source: Kubernetes 1.36 `pkg/apis/events/v1/conversion.go`.

use serde_json::{Map, Value};

/// The field in core, the field in events.k8s.io.
const FIELD_PAIRS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Makes an event of the core group one of events.k8s.io.
pub(super) fn from_core(event: &mut Value) {
    let Value::Object(event) = event else { return };
    rename(event, |(core, new)| (core, new));
    // Both are always there in core, and only where they are set here.
    for field in ["reportingController", "reportingInstance"] {
        if event.get(field).is_some_and(|text| text == "") {
            event.remove(field);
        }
    }
}

/// Makes an event of events.k8s.io one of the core group.
pub(super) fn to_core(event: &mut Value) {
    let Value::Object(event) = event else { return };
    rename(event, |(core, new)| (new, core));
    for field in ["reportingComponent", "reportingInstance"] {
        event.entry(field).or_insert_with(|| "".into());
    }
}

fn rename(event: &mut Map<String, Value>, direction: fn((&'static str, &'static str)) -> (&'static str, &'static str)) {
    for (from, to) in FIELD_PAIRS.map(direction) {
        if let Some(value) = event.remove(from) {
            event.insert(to.to_owned(), value);
        }
    }
}
