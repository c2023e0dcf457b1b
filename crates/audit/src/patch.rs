//! What a patch makes of an object, where the log holds the patch and not the answer.
//!
//! The log does not say of which type a patch is, but it shows: a list is a JSON patch (RFC 6902); an object is a strategic merge for Kubernetes' own
//! kinds, and a merge (RFC 7386) for custom resources. Server-side apply sends fields as they are to be, which merge in the same way; fields that it
//! takes back by leaving them out are kept.
//!
//! Source: apimachinery `pkg/util/strategicpatch/patch.go` for the directives; the merge keys are the `patchMergeKey` tags of k8s.io/api 1.36.

use std::collections::{HashMap, HashSet, VecDeque};

use json_patch::{Patch, PatchOperation};
use serde::Deserialize;
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

/// The most operations of a JSON patch (apiserver `pkg/endpoints/handlers/patch.go`, `maxJSONPatchOperations`), and the most bytes that its copies add
/// together (`pkg/server/config.go`, `JSONPatchMaxCopyBytes`): each copy may double an object.
const MOST_OPERATIONS: usize = 10_000;
const MOST_COPIED: usize = 3 << 20;
/// The most values that one JSON patch may look at or move within lists: an operation at the beginning of a long list moves all of it.
const MOST_STEPS: usize = 50_000_000;
/// serde_json reads nothing deeper. A deeper value would overflow the stack when it is written or dropped.
const MAX_JSON_DEPTH: usize = 128;

const UNITED_LISTS: [&str; 2] = ["finalizers", "podCIDRs"];

/// Lists with a merge key that are replaced as a whole all the same (`patchStrategy` is not `merge`).
const ATOMIC_LISTS: [&str; 1] = ["taints"];

/// Returns what a patch makes of an object; `None` where it cannot have been applied to it.
#[must_use]
pub fn patched(object: &Value, patch: &Value, is_custom: bool) -> Option<Value> {
    match patch {
        Value::Array(_) => applied(object, patch),
        Value::Object(_) if is_custom => {
            let mut result = object.clone();
            json_patch::merge(&mut result, patch);
            Some(result)
        }
        Value::Object(_) => Some(strategic(object, patch, "")),
        _ => None,
    }
}

fn strategic(object: &Value, patch: &Value, field: &str) -> Value {
    match (object, patch) {
        (_, Value::Object(patch)) if patch.get("$patch").is_some_and(|word| word == "replace") => Value::Object(without_directives(patch)),
        (Value::Object(object), Value::Object(patch)) => Value::Object(members(object, patch)),
        (_, Value::Object(patch)) => Value::Object(members(&Map::new(), patch)),
        (Value::Array(before), Value::Array(sent)) if UNITED_LISTS.contains(&field) => {
            let known: HashSet<&Value> = before.iter().collect();
            Value::Array(before.iter().chain(sent.iter().filter(|item| !known.contains(item))).cloned().collect())
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
        let retained: HashSet<&str> = retained.iter().filter_map(Value::as_str).collect();
        result.retain(|name, _| retained.contains(name.as_str()));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(items)), Some(gone)) = (result.get_mut(list), value.as_array()) {
                let gone: HashSet<&Value> = gone.iter().collect();
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
    let is_replaced = sent.iter().any(|item| item["$patch"] == "replace");
    let mut result: Vec<Option<Value>> = if is_replaced { Vec::new() } else { before.iter().cloned().map(Some).collect() };
    // Where the items of each key are. No two have one in a list that an API server took.
    let mut places: HashMap<&Value, VecDeque<usize>> = HashMap::new();
    for (place, item) in before.iter().enumerate().take(result.len()) {
        places.entry(&item[key]).or_default().push_back(place);
    }
    for item in sent {
        let of_key = places.entry(&item[key]).or_default();
        match (item["$patch"].as_str(), of_key.front().copied()) {
            (Some("delete"), place) => {
                of_key.pop_front();
                place.into_iter().for_each(|place| result[place] = None);
            }
            (Some("replace"), _) if item.get(key).is_none() => {}
            (_, Some(place)) => result[place] = result[place].take().map(|known| strategic(&known, item, "")),
            (_, None) => {
                of_key.push_back(result.len());
                result.push(Some(strategic(&Value::Null, item, "")));
            }
        }
    }
    Some(Value::Array(result.into_iter().flatten().collect()))
}

/// Puts the items that a patch orders into that order; the others stay before those that followed them.
fn put_in_order(object: &mut Map<String, Value>, list: &str, order: &[Value]) {
    let Some(Value::Array(items)) = object.get_mut(list) else { return };
    let key = key_of(list, &[items]);
    let mut ranks: HashMap<&Value, usize> = HashMap::new();
    for (rank, wanted) in order.iter().enumerate() {
        ranks.entry(named(wanted, key)).or_insert(rank);
    }
    let mut last = 0;
    let mut ranked: Vec<(usize, Value)> = items
        .drain(..)
        .map(|item| {
            last = ranks.get(named(&item, key)).copied().unwrap_or(last);
            (last, item)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    items.extend(ranked.into_iter().map(|(_, item)| item));
}

/// What an item is known by: the value of its key, or all of it.
fn named<'i>(item: &'i Value, key: Option<&str>) -> &'i Value {
    key.map_or(item, |key| &item[key])
}

/// Applies a JSON patch; `None` where it cannot be applied, an API server would have refused it, or it would take too long.
fn applied(object: &Value, patch: &Value) -> Option<Value> {
    let operations = Patch::deserialize(patch).ok()?.0;
    if operations.len() > MOST_OPERATIONS {
        return None;
    }
    let (mut result, mut copied, mut steps) = (object.clone(), 0, 0);
    for operation in &operations {
        let put = match operation {
            PatchOperation::Add(add) => depth(&add.value, &mut steps),
            PatchOperation::Replace(replace) => depth(&replace.value, &mut steps),
            // What is moved becomes deeper only where it is put deeper.
            PatchOperation::Move(from) if from.path.count() <= from.from.count() => 0,
            PatchOperation::Move(from) => depth(from.from.resolve(&result).ok()?, &mut steps),
            PatchOperation::Copy(from) => {
                let value = from.from.resolve(&result).ok()?;
                copied += value.to_string().len();
                depth(value, &mut steps)
            }
            PatchOperation::Remove(_) | PatchOperation::Test(_) => 0,
        };
        steps += moved_by(operation, &result);
        if copied > MOST_COPIED || put + operation.path().count() > MAX_JSON_DEPTH || steps > MOST_STEPS {
            return None;
        }
        json_patch::patch(&mut result, std::slice::from_ref(operation)).ok()?;
    }
    Some(result)
}

/// How many items of lists an operation may move: those of the lists that it adds to or takes from.
fn moved_by(operation: &PatchOperation, object: &Value) -> usize {
    let items = |path: &json_patch::jsonptr::Pointer| {
        let list = path.parent().and_then(|list| list.resolve(object).ok()).and_then(Value::as_array);
        list.map_or(0, Vec::len)
    };
    match operation {
        PatchOperation::Add(_) | PatchOperation::Remove(_) | PatchOperation::Copy(_) => items(operation.path()),
        PatchOperation::Move(from) => items(&from.from) + items(operation.path()),
        PatchOperation::Replace(_) | PatchOperation::Test(_) => 0,
    }
}

/// How many objects and lists lie in one another; `steps` counts what is looked at.
fn depth(value: &Value, steps: &mut usize) -> usize {
    *steps += 1;
    match value {
        Value::Array(items) => 1 + items.iter().map(|item| depth(item, steps)).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(|member| depth(member, steps)).max().unwrap_or(0),
        _ => 0,
    }
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

    /// Lists as long as a request may be: with a look at each item for each item, this would take hours.
    #[test]
    fn long_lists_are_merged_in_one_pass() {
        const ITEM_COUNT: usize = 100_000;
        let texts = |from: usize| -> Vec<Value> { (from..from + ITEM_COUNT).map(|number| number.to_string().into()).collect() };
        let named = |from: usize| -> Vec<Value> { (from..from + ITEM_COUNT).map(|number| json!({"type": number.to_string()})).collect() };
        let object = json!({"finalizers": texts(0), "conditions": named(0)});
        let patch = json!({"finalizers": texts(ITEM_COUNT / 2), "$deleteFromPrimitiveList/finalizers": texts(2 * ITEM_COUNT), "$setElementOrder/finalizers": texts(0),
            "conditions": named(ITEM_COUNT / 2), "$setElementOrder/conditions": named(ITEM_COUNT / 2)});
        let result = patched(&object, &patch, false).unwrap();
        let length = |list: &str| result[list].as_array().unwrap().len();
        assert_eq!((length("finalizers"), length("conditions")), (ITEM_COUNT * 3 / 2, ITEM_COUNT * 3 / 2));
        let gone: Vec<Value> = (0..ITEM_COUNT).map(|number| json!({"type": number.to_string(), "$patch": "delete"})).collect();
        assert_eq!(patched(&object, &json!({"conditions": gone}), false).unwrap()["conditions"], json!([]));
        let first = json!({"op": "add", "path": "/finalizers/0", "value": "x"});
        assert!(patched(&object, &json!([first]), false).is_some());
        assert_eq!(patched(&object, &vec![first; MOST_OPERATIONS].into(), false), None);
    }

    #[test]
    fn items_of_one_key_are_merged_one_after_the_other() {
        let object = json!({"conditions": [{"type": "a", "n": 1}, {"type": "b"}, {"type": "a", "n": 2}]});
        let conditions = |patch: Value| patched(&object, &json!({"conditions": patch}), false).unwrap()["conditions"].clone();
        let gone = json!({"type": "a", "$patch": "delete"});
        assert_eq!(conditions(json!([gone])), json!([{"type": "b"}, {"type": "a", "n": 2}]));
        assert_eq!(conditions(json!([gone, gone, {"type": "a"}, {"type": "a", "m": 3}])), json!([{"type": "b"}, {"type": "a", "m": 3}]));
        assert_eq!(conditions(json!([{"$patch": "replace"}, {"type": "c"}])), json!([{"type": "c"}]));
    }

    #[test]
    fn patches_that_blow_an_object_up_are_refused() {
        let repeated = |operation: Value, count: usize| patched(&json!({"a": {"b": {}}}), &vec![operation; count].into(), false);
        let double = |number: usize| json!({"op": "copy", "from": "/a", "path": format!("/a/{number}")});
        assert!(patched(&json!({"a": {}}), &(0..6).map(double).collect(), false).is_some());
        assert_eq!(patched(&json!({"a": {}}), &(0..64).map(double).collect(), false), None);
        let deeper = json!({"op": "copy", "from": "/a", "path": "/a/b"});
        assert!(repeated(deeper.clone(), 100).is_some());
        assert_eq!(repeated(deeper, 200), None);
        let test = json!({"op": "test", "path": "/a/b", "value": {}});
        assert!(repeated(test.clone(), MOST_OPERATIONS).is_some());
        assert_eq!(repeated(test, MOST_OPERATIONS + 1), None);
    }
}
