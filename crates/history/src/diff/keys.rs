//! Which fields identify the items of a list.
//!
//! Source: the `listMapKey` and `patchMergeKey` markers of kubernetes/api v0.36; for lists that the API replaces as a whole (statuses of
//! containers, taints, tolerations, …) the fields that identify an item to a reader. A wrong key costs readability, never exactness.

use serde_json::Value;

/// One way to identify an item: fields whose values together are unique in the list. A dot descends into an object.
pub(super) type Key = &'static [&'static str];

/// Lists by their field name, sorted, with the keys to try in order.
const LIST_KEYS: &[(&str, &[Key])] = &[
    ("addresses", &[&["type", "address"], &["type"], &["ip"]]),
    ("claims", &[&["name"]]),
    ("conditions", &[&["type"]]),
    ("containerStatuses", &[&["name"]]),
    ("containers", &[&["name"]]),
    ("devices", &[&["driver", "pool", "device", "shareID"], &["name"]]),
    ("drivers", &[&["name"]]),
    ("endpoints", &[&["targetRef.uid"], &["hostname"], &["nodeName"]]),
    ("env", &[&["name"]]),
    ("envFrom", &[&["prefix", "configMapRef.name", "secretRef.name"]]),
    ("ephemeralContainerStatuses", &[&["name"]]),
    ("ephemeralContainers", &[&["name"]]),
    ("hostAliases", &[&["ip"]]),
    ("hostIPs", &[&["ip"]]),
    ("imagePullSecrets", &[&["name"]]),
    ("ingress", &[&["ip"], &["hostname"]]),
    ("initContainerStatuses", &[&["name"]]),
    ("initContainers", &[&["name"]]),
    (
        "managedFields",
        &[&["manager", "operation", "apiVersion", "subresource"], &["manager", "operation", "apiVersion", "subresource", "time"]],
    ),
    ("matchExpressions", &[&["key"], &["key", "operator"]]),
    ("metrics", &[&["type", "resource.name", "containerResource.name", "pods.metric.name", "object.metric.name", "external.metric.name"]]),
    ("notReadyAddresses", &[&["ip"]]),
    ("options", &[&["name"]]),
    ("ownerReferences", &[&["uid"]]),
    ("paths", &[&["path", "pathType"], &["path"]]),
    ("podIPs", &[&["ip"]]),
    ("ports", &[&["containerPort", "protocol"], &["port", "protocol"], &["name"], &["containerPort", "protocol", "hostPort", "hostIP"]]),
    ("reservedFor", &[&["uid"]]),
    ("resources", &[&["name"], &["resourceID"]]),
    ("storageVersions", &[&["apiServerID"]]),
    ("subjects", &[&["kind", "apiGroup", "namespace", "name"]]),
    ("taints", &[&["key", "effect"]]),
    ("tolerations", &[&["key", "operator", "value", "effect"]]),
    ("topologySpreadConstraints", &[&["topologyKey", "whenUnsatisfiable"], &["topologyKey"]]),
    ("volumeAttributesClasses", &[&["name"]]),
    ("volumeClaimTemplates", &[&["metadata.name"]]),
    ("volumeDevices", &[&["devicePath"]]),
    ("volumeMounts", &[&["mountPath"]]),
    ("volumes", &[&["name"]]),
    ("volumesAttached", &[&["name"]]),
    ("x-kubernetes-validations", &[&["rule"]]),
];

/// Keys for lists that are not in the table, among them those of custom resources.
const USUAL_LIST_KEYS: &[Key] = &[&["name"], &["uid"], &["type"], &["key"], &["id"], &["ip"]];

/// Returns the keys to try for the list in field `list`, best first.
pub(super) fn candidates(list: &str) -> impl Iterator<Item = Key> {
    let listed = LIST_KEYS.binary_search_by(|(name, _)| name.cmp(&list)).map(|row| LIST_KEYS[row].1).unwrap_or_default();
    listed.iter().copied().chain(USUAL_LIST_KEYS.iter().copied())
}

/// Returns an item's value under `path`, descending at dots.
pub(super) fn part<'a>(item: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(item, |value, name| value.get(name))
}

/// Returns the words that name `item` among the items of `list`, for example `PodScheduled` or `80/TCP`; `None` where it has no key.
pub fn label(list: &str, item: &Value) -> Option<String> {
    let key = candidates(list).find(|key| part(item, key[0]).is_some() || (list == "tolerations" && item.is_object()))?;
    let words: Vec<String> = key.iter().filter_map(|path| part(item, path)).map(word).collect();
    Some(if words.is_empty() { "*".to_owned() } else { words.join("/") })
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_is_sorted() {
        assert!(LIST_KEYS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn items_are_named_by_their_keys() {
        assert_eq!(label("conditions", &json!({"type": "Ready", "status": "True"})).unwrap(), "Ready");
        assert_eq!(label("ports", &json!({"name": "http", "port": 80, "protocol": "TCP"})).unwrap(), "80/TCP");
        assert_eq!(label("tolerations", &json!({"operator": "Exists"})).unwrap(), "Exists");
        assert_eq!(label("anything", &json!({"name": "a"})).unwrap(), "a");
        assert_eq!(label("args", &json!("--v=2")), None);
    }
}
