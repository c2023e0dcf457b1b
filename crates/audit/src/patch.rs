//! What a patch makes of an object, where the log holds the patch and not the answer.
//!
//! The log does not say of which type a patch is, but it shows: a list is a JSON patch (RFC 6902); an object is a strategic merge for Kubernetes' own
//! kinds, and a merge (RFC 7386) for custom resources. Server-side apply sends fields as they are to be, which merge in the same way; fields that it
//! takes back by leaving them out are kept.
//!
//! Source: apimachinery `pkg/util/strategicpatch/patch.go` for the directives; the merge keys are the `patchMergeKey` tags of k8s.io/api 1.36.

use serde_json::{Map, Value};

/// Lists whose items are merged, and the keys that tell them apart; of several the first that all items have.
const MERGED_LISTS: &[(&str, &[&str])] = &[
    ("addresses", &["type"]),
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("hostIPs", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("matchConditions", &["name"]),
    ("ownerReferences", &["uid"]),
    ("podIPs", &["ip"]),
    ("ports", &["containerPort", "port"]),
    ("resourceClaims", &["name"]),
    ("resourceClaimStatuses", &["name"]),
    ("schedulingGates", &["name"]),
    ("secrets", &["name"]),
    ("taints", &["key"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("webhooks", &["name"]),
];

/// Lists of strings that are united.
const UNITED_LISTS: [&str; 2] = ["finalizers", "podCIDRs"];

/// Lists with a merge key that are replaced as a whole all the same (`patchStrategy` is not `merge`).
const ATOMIC_LISTS: [&str; 1] = ["taints"];

/// Returns what a patch makes of an object; `None` where it cannot have been applied to it.
#[must_use]
pub fn patched(object: &Value, patch: &Value, is_custom: bool) -> Option<Value> {
    match patch {
        Value::Array(operations) => {
            let mut result = object.clone();
            operations.iter().try_for_each(|operation| apply(&mut result, operation))?;
            Some(result)
        }
        Value::Object(_) if is_custom => Some(merged(object, patch)),
        Value::Object(_) => Some(strategic(object, patch, "")),
        _ => None,
    }
}

/// RFC 7386.
fn merged(object: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut result = object.as_object().cloned().unwrap_or_default();
    for (name, value) in patch {
        match value {
            Value::Null => drop(result.remove(name)),
            value => {
                let before = result.get(name).cloned().unwrap_or_default();
                result.insert(name.clone(), merged(&before, value));
            }
        }
    }
    Value::Object(result)
}

fn strategic(object: &Value, patch: &Value, field: &str) -> Value {
    match (object, patch) {
        (_, Value::Object(patch)) if patch.get("$patch").is_some_and(|word| word == "replace") => Value::Object(without_directives(patch)),
        (Value::Object(object), Value::Object(patch)) => Value::Object(members(object, patch)),
        (_, Value::Object(patch)) => Value::Object(members(&Map::new(), patch)),
        (Value::Array(before), Value::Array(sent)) if UNITED_LISTS.contains(&field) => {
            Value::Array(before.iter().chain(sent.iter().filter(|item| !before.contains(item))).cloned().collect())
        }
        (Value::Array(before), Value::Array(sent)) => items(before, sent, field).unwrap_or_else(|| patch.clone()),
        (_, Value::Array(sent)) => items(&[], sent, field).unwrap_or_else(|| patch.clone()),
        _ => patch.clone(),
    }
}

fn without_directives(patch: &Map<String, Value>) -> Map<String, Value> {
    patch.iter().filter(|(name, _)| !name.starts_with('$')).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn members(object: &Map<String, Value>, patch: &Map<String, Value>) -> Map<String, Value> {
    let mut result = object.clone();
    if let Some(retained) = patch.get("$retainKeys").and_then(Value::as_array) {
        result.retain(|name, _| retained.iter().any(|retained| retained == name));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(items)), Some(gone)) = (result.get_mut(list), value.as_array()) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        match value {
            _ if name.starts_with('$') => {}
            Value::Null => drop(result.remove(name)),
            value => {
                let before = result.get(name).cloned().unwrap_or_default();
                result.insert(name.clone(), strategic(&before, value, name));
            }
        }
    }
    for (name, order) in patch {
        if let (Some(list), Some(order)) = (name.strip_prefix("$setElementOrder/"), order.as_array()) {
            put_in_order(&mut result, list, order);
        }
    }
    result
}

/// The key that tells the items of a list apart.
fn key_of(list: &str, items: &[&[Value]]) -> Option<&'static str> {
    let (_, keys) = MERGED_LISTS.iter().find(|(name, _)| *name == list && !ATOMIC_LISTS.contains(name))?;
    keys.iter()
        .copied()
        .find(|key| items.iter().all(|items| items.iter().all(|item| item.get(*key).is_some() || item.get("$patch").is_some())))
}

fn items(before: &[Value], sent: &[Value], list: &str) -> Option<Value> {
    let key = key_of(list, &[before, sent])?;
    let mut result = before.to_vec();
    if sent.iter().any(|item| item["$patch"] == "replace") {
        result.clear();
    }
    for item in sent {
        let place = result.iter().position(|known| known[key] == item[key]);
        match (item["$patch"].as_str(), place) {
            (Some("delete"), place) => drop(place.map(|place| result.remove(place))),
            (Some("replace"), _) if item.get(key).is_none() => {}
            (_, Some(place)) => result[place] = strategic(&result[place], item, ""),
            (_, None) => result.push(strategic(&Value::Null, item, "")),
        }
    }
    Some(Value::Array(result))
}

/// Puts the items that a patch orders into that order; the others stay before those that followed them.
fn put_in_order(object: &mut Map<String, Value>, list: &str, order: &[Value]) {
    let Some(Value::Array(items)) = object.get_mut(list) else { return };
    let key = key_of(list, &[items]);
    let is_same = |item: &Value, wanted: &Value| key.map_or(item == wanted, |key| item[key] == wanted[key]);
    let rank = |item: &Value| order.iter().position(|wanted| is_same(item, wanted));
    let mut last = 0;
    let ranked: Vec<(usize, Value)> = items
        .drain(..)
        .map(|item| {
            last = rank(&item).unwrap_or(last);
            (last, item)
        })
        .collect();
    let mut ranked = ranked;
    ranked.sort_by_key(|(rank, _)| *rank);
    items.extend(ranked.into_iter().map(|(_, item)| item));
}

/// An operation of RFC 6902; `None` where it cannot be applied.
fn apply(object: &mut Value, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str()?;
    match operation["op"].as_str()? {
        "add" => add(object, path, operation["value"].clone()),
        "remove" => remove(object, path).map(drop),
        "replace" if path.is_empty() => {
            *object = operation["value"].clone();
            Some(())
        }
        "replace" => {
            *object.pointer_mut(path)? = operation["value"].clone();
            Some(())
        }
        "move" => {
            let value = remove(object, operation["from"].as_str()?)?;
            add(object, path, value)
        }
        "copy" => {
            let value = object.pointer(operation["from"].as_str()?)?.clone();
            add(object, path, value)
        }
        "test" => (object.pointer(path) == operation.get("value")).then_some(()),
        _ => None,
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let Some((parent, name)) = path.rsplit_once('/') else {
        *object = value;
        return Some(());
    };
    match object.pointer_mut(parent)? {
        Value::Object(members) => drop(members.insert(unescaped(name), value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => {
            let place = name.parse().ok().filter(|&place: &usize| place <= items.len())?;
            items.insert(place, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = path.rsplit_once('/')?;
    match object.pointer_mut(parent)? {
        Value::Object(members) => members.remove(&unescaped(name)),
        Value::Array(items) => {
            let place = name.parse().ok().filter(|&place: &usize| place < items.len())?;
            Some(items.remove(place))
        }
        _ => None,
    }
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_of_every_type_are_applied() {
        let object = json!({"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}, "finalizers": ["f/1"]},
            "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}, {"type": "Initialized", "status": "True"}],
            "containerStatuses": [{"name": "c"}]}});
        let status = |patch: Value| patched(&object, &json!({"status": patch}), false).unwrap()["status"].clone();
        assert_eq!(
            status(json!({"$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "Ready"}, {"type": "Initialized"}],
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]}))["conditions"],
            json!([{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}])
        );
        assert_eq!(status(json!({"conditions": [{"type": "Ready", "$patch": "delete"}]}))["conditions"].as_array().unwrap().len(), 1);
        assert_eq!(status(json!({"phase": null, "containerStatuses": []}))["containerStatuses"], json!([]));
        assert_eq!(status(json!({"$patch": "replace", "phase": "Running"})), json!({"phase": "Running"}));
        let metadata = |patch: Value, is_custom| patched(&object, &json!({"metadata": patch}), is_custom).unwrap()["metadata"].clone();
        assert_eq!(metadata(json!({"labels": {"x": null}, "finalizers": ["f/2"]}), false)["finalizers"], json!(["f/1", "f/2"]));
        assert_eq!(metadata(json!({"$deleteFromPrimitiveList/finalizers": ["f/1"]}), false)["finalizers"], json!([]));
        assert_eq!(metadata(json!({"labels": {"x": null}, "finalizers": ["f/2"]}), true)["finalizers"], json!(["f/2"]));
        let operations = json!([{"op": "test", "path": "/metadata/name", "value": "a"}, {"op": "add", "path": "/metadata/labels/a~1b", "value": "c"},
            {"op": "remove", "path": "/metadata/labels/x"}, {"op": "move", "from": "/metadata/labels/y", "path": "/metadata/labels/z"},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "f/2"}]);
        let result = patched(&object, &operations, false).unwrap();
        assert_eq!(result["metadata"], json!({"name": "a", "labels": {"a/b": "c", "z": "2"}, "finalizers": ["f/1", "f/2"]}));
        assert_eq!(patched(&object, &json!([{"op": "test", "path": "/metadata/name", "value": "b"}]), false), None);
    }
}
