//! The object that a timeline is of.

use serde_json::Value;

/// The object that a timeline is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// `Pod`, …
    pub kind: String,
    /// Empty where cluster-scoped.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The uid of the last incarnation; empty where no version can be read.
    pub uid: String,
}

impl Subject {
    /// The subject that an object is.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
        }
    }
}
