//! One object of a list or a watch, as a key of etcd's with its value. The value is the server's own JSON.

use bytes::Bytes;
use ketcd_store::{KeyValue, Revision};
use serde::Deserialize;

use super::catalog::Resource;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    kind: Option<String>,
    api_version: Option<String>,
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    resource_version: String,
}

/// Reads an object of `resource`; `None` where it is not one. What etcd knows of a key beyond the object is not known: 0.
pub(crate) fn stored(resource: &Resource, text: &str, with_value: bool) -> Option<KeyValue> {
    let text = text.trim();
    let head: Head = serde_json::from_str(text).ok()?;
    let mod_revision = revision(&head.metadata.resource_version)?;
    let key = resource.key(head.metadata.namespace.as_deref(), &head.metadata.name);
    let value = match (with_value, head.kind, head.api_version) {
        (false, ..) => Bytes::new(),
        (true, Some(_), Some(_)) => Bytes::copy_from_slice(text.as_bytes()),
        // The objects of a list have neither.
        (true, kind, version) => {
            let kind = if kind.is_none() { format!("\"kind\":{},", quoted(&resource.kind)) } else { String::new() };
            let version = if version.is_none() { format!("\"apiVersion\":{},", quoted(&resource.api_version)) } else { String::new() };
            Bytes::from(format!("{{{kind}{version}{}", text.strip_prefix('{')?.trim_start()))
        }
    };
    let (create_revision, replaced) = (Revision(0), Revision(0));
    Some(KeyValue { key: key.into(), value, create_revision, mod_revision, version: 0, replaced, lease: 0 })
}

/// Reads a revision as etcd gives them; `None` where it cannot be one: no cluster comes near the largest number.
pub(crate) fn revision(text: &str) -> Option<Revision> {
    let number = text.parse().ok().filter(|number| (1..i64::MAX / 2).contains(number));
    number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())).map(Revision)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
