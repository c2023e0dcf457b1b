//! Who wrote a value last, by its managedFields: nothing else of the object is decoded.

use serde::Deserialize;

use super::Decoder;
use super::envelope::Envelope;
use super::identity::Identity;
use super::stored::find_message;
use super::typed::TypedObject;
use super::view::Context;

#[derive(Deserialize)]
struct WithMetadata {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    managed_fields: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    manager: Option<String>,
    time: Option<String>,
}

impl Decoder {
    /// Returns the manager whose entry in managedFields has the newest time, of several the last; `None` if there is none, where the value is CBOR, and
    /// where it cannot be read. An entry gets a new time when its manager changes something.
    #[doc(hidden)]
    pub fn last_manager(&self, key: &[u8], value: &[u8]) -> Option<String> {
        let value = self.unsealed(key, value).ok()?;
        let object: WithMetadata = match Envelope::of(&value).ok()? {
            Envelope::Protobuf { api_version, kind, object } => {
                let message = find_message(&api_version, &kind)?;
                let context = &mut Context::new(&value, self.minor(message), self.shows_newer_fields);
                let identity = Identity { api_version: &api_version, kind: &kind, mod_revision: 0, is_lean: false };
                WithMetadata::deserialize(TypedObject { context, message, span: object, identity, wanted: None }).ok()?
            }
            Envelope::Json => serde_json::from_slice(&value).ok()?,
            Envelope::Cbor | Envelope::Foreign => return None,
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
    use crate::release::Release;

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
        let stored = crate::encode(&object, Release(36)).unwrap().unwrap();
        let last = |value: &[u8]| Decoder::new().last_manager(b"/registry/configmaps/b/a", value);
        assert_eq!(last(&stored).as_deref(), Some("helm"));
        assert_eq!(last(object.to_string().as_bytes()).as_deref(), Some("helm"));
        assert_eq!(last(br#"{"metadata": {}}"#), None);
        assert_eq!(last(b"1787"), None);
        assert_eq!(last(&stored[..stored.len() / 2]), None);
    }
}
