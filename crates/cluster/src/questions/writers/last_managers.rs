//! Who wrote a value last, by its managedFields: nothing else of the object is decoded.

use serde::Deserialize;

use ketcd_kube::Decoder;

use crate::cluster::Cluster;

/// What values in protobuf begin with, and sealed ones.
const MADE_BY_API_SERVERS: &[u8] = b"k8s";

#[derive(Deserialize)]
struct WithMetadata {
    metadata: ManagedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedMetadata {
    #[serde(default)]
    managed_fields: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    manager: Option<String>,
    time: Option<String>,
}

/// Reads the managers that wrote values last. Of a Secret, too, it shows nothing else.
pub(crate) struct LastManagers(Decoder);

impl LastManagers {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        Self(Decoder::for_stored_values().with_storage(None, cluster.options.keys.clone()).showing_secrets(true))
    }

    /// Returns the manager whose entry in managedFields has the newest time, of several the last; `None` if there is none, where the value is CBOR, and
    /// where it cannot be read. An entry gets a new time when its manager changes something.
    pub(crate) fn manager(&self, key: &[u8], value: &[u8]) -> Option<String> {
        let object: WithMetadata = if value.starts_with(MADE_BY_API_SERVERS) {
            self.0.decode_as(key, value, 0).ok()?.0
        } else {
            serde_json::from_slice(value).ok()?
        };
        // A later one wins against an equal time: the API server sorts entries by time.
        let entries = object.metadata.managed_fields.into_iter().filter_map(|entry| Some((entry.time, entry.manager?)));
        entries.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, manager)| manager)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ketcd_kube::{Release, encode};

    #[test]
    fn the_newest_entry_wrote_last() {
        let entry = |manager: &str, time: &str| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}})
        };
        let entries =
            json!([entry("kubectl", "2026-11-20T22:00:05Z"), entry("helm", "2026-11-20T22:00:07Z"), entry("old", "2026-11-20T22:00:01Z")]);
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", "managedFields": entries}});
        let stored = encode(&object, Release(36)).unwrap().unwrap();
        let managers = LastManagers(Decoder::for_stored_values());
        let last = |value: &[u8]| managers.manager(b"/registry/configmaps/b/a", value);
        assert_eq!(last(&stored).as_deref(), Some("helm"));
        assert_eq!(last(object.to_string().as_bytes()).as_deref(), Some("helm"));
        assert_eq!(last(br#"{"metadata": {}}"#), None);
        assert_eq!(last(b"1787"), None);
        assert_eq!(last(&stored[..stored.len() / 2]), None);
    }
}
