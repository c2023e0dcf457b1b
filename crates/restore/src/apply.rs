//! What `kubectl apply` makes of an object that is there: a three-way merge of what was applied last, the manifest, and the live object.
//!
//! Source: kubectl `pkg/cmd/apply/patcher.go`, apimachinery `pkg/util/strategicpatch` and `pkg/util/jsonmergepatch`; the merge keys are the
//! `patchMergeKey` tags of k8s.io/api 1.36.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::rules::LAST_APPLIED;

/// How an object is patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// As kubectl patches Kubernetes' own kinds: items of some lists are merged by a key.
    Strategic,
    /// As kubectl patches custom resources: lists are replaced.
    Json,
}

/// Lists whose items are merged, and their keys. A list named `ports` has one of two keys, by what it is a list of.
const MERGED_LISTS: &[(&str, &[&str])] = &[
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("matchConditions", &["name"]),
    ("ownerReferences", &["uid"]),
    ("ports", &["containerPort", "port"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("secrets", &["name"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("webhooks", &["name"]),
];

/// Returns what applying a manifest makes of a live object. Fields that the manifest does not have stay as they are, unless they were applied before.
pub fn applied(live: &Value, manifest: &Value, merge: Merge) -> Value {
    let text = live["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
    let last: Value = serde_json::from_str(text).unwrap_or_default();
    let mut wanted = manifest.clone();
    // kubectl adds its own annotation, so that an applied manifest never is without any.
    if wanted["metadata"].is_object() && !wanted["metadata"]["annotations"].is_object() && live["metadata"]["annotations"].is_object() {
        wanted["metadata"]["annotations"] = Value::Object(Map::new());
    }
    merged(live, &wanted, &last, "", merge)
}

fn merged(live: &Value, wanted: &Value, last: &Value, list: &str, merge: Merge) -> Value {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => Value::Object(members(live, wanted, last, merge)),
        (Value::Array(live), Value::Array(wanted)) if merge == Merge::Strategic => {
            if list == "finalizers" {
                return united(live, wanted, last);
            }
            items(live, wanted, last, list).unwrap_or_else(|| Value::Array(wanted.clone()))
        }
        _ => wanted.clone(),
    }
}

fn members(live: &Map<String, Value>, wanted: &Map<String, Value>, last: &Value, merge: Merge) -> Map<String, Value> {
    let mut result = live.clone();
    let before = last.as_object().into_iter().flatten();
    // What was applied as null was never set.
    before.filter(|(name, value)| !value.is_null() && !wanted.contains_key(*name)).for_each(|(name, _)| drop(result.remove(name)));
    for (name, value) in wanted {
        match (value, live.get(name)) {
            (Value::Null, _) => drop(result.remove(name)),
            (value, Some(live)) => drop(result.insert(name.clone(), merged(live, value, &last[name], name, merge))),
            (value, None) => drop(result.insert(name.clone(), value.clone())),
        }
    }
    result
}

/// A list of strings without duplicates.
fn united(live: &[Value], wanted: &[Value], last: &Value) -> Value {
    let is_removed = |item: &Value| last.as_array().is_some_and(|last| last.contains(item)) && !wanted.contains(item);
    let mut result: Vec<Value> = live.iter().filter(|item| !is_removed(item)).cloned().collect();
    result.extend(wanted.iter().filter(|item| !live.contains(item)).cloned());
    Value::Array(result)
}

/// Merges lists by a key; `None` where the list has none, or its items do not all have one of their own.
fn items(live: &[Value], wanted: &[Value], last: &Value, list: &str) -> Option<Value> {
    let (_, keys) = MERGED_LISTS.iter().find(|(name, _)| *name == list)?;
    let key = keys.iter().find(|key| are_told_apart(live, key) && are_told_apart(wanted, key))?;
    let of = |items: &[Value], item: &Value| items.iter().position(|other| other[*key] == item[*key]);
    let before = last.as_array().map_or(&[][..], Vec::as_slice);
    let is_removed = |item: &Value| of(before, item).is_some() && of(wanted, item).is_none();
    let merge_one = |item: &Value| match of(live, item) {
        Some(place) => {
            let last = of(before, item).map_or(&Value::Null, |place| &before[place]);
            merged(&live[place], item, last, "", Merge::Strategic)
        }
        None => item.clone(),
    };
    // The manifest's order is kept only where the live one contradicts it.
    let places: Vec<usize> = wanted.iter().filter_map(|item| of(live, item)).collect();
    let others = live.iter().filter(|item| of(wanted, item).is_none() && !is_removed(item)).cloned();
    if !places.is_sorted() {
        return Some(wanted.iter().map(merge_one).chain(others).collect());
    }
    let kept = live.iter().filter(|item| !is_removed(item)).map(|item| match of(wanted, item) {
        Some(place) => merge_one(&wanted[place]),
        None => item.clone(),
    });
    Some(kept.chain(wanted.iter().filter(|item| of(live, item).is_none()).cloned()).collect())
}

fn are_told_apart(items: &[Value], key: &str) -> bool {
    let values: BTreeSet<String> = items.iter().filter(|item| !item[key].is_null()).map(|item| item[key].to_string()).collect();
    values.len() == items.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(live: Value, manifest: Value, wanted: Value) {
        assert_eq!(applied(&live, &manifest, Merge::Strategic), wanted);
    }

    /// A live object that was applied from `last`.
    fn with_last(mut live: Value, last: Value) -> Value {
        live["metadata"]["annotations"][LAST_APPLIED] = last.to_string().into();
        live
    }

    #[test]
    fn what_the_manifest_does_not_say_stays() {
        check(json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"b": {"c": 5}}), json!({"a": 1, "b": {"c": 5, "d": 3}}));
        check(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}));
    }

    #[test]
    fn what_was_applied_and_is_not_any_more_goes() {
        let live = with_last(json!({"spec": {"a": 1, "b": 2, "c": 3}}), json!({"spec": {"a": 1, "b": 2}}));
        let mut wanted = live.clone();
        wanted["spec"] = json!({"a": 7, "c": 3});
        check(live, json!({"spec": {"a": 7}}), wanted);
    }

    #[test]
    fn annotations_of_others_stay() {
        let live =
            with_last(json!({"metadata": {"annotations": {"own": "1", "other": "2"}}}), json!({"metadata": {"annotations": {"own": "1"}}}));
        let mut wanted = live.clone();
        wanted["metadata"]["annotations"].as_object_mut().unwrap().remove("own");
        check(live, json!({"metadata": {"name": "a"}}), {
            wanted["metadata"]["name"] = "a".into();
            wanted
        });
    }

    #[test]
    fn containers_are_merged_by_name_and_arguments_replaced() {
        let injected = json!({"name": "injected", "image": "i"});
        check(
            json!({"containers": [{"name": "a", "image": "1", "args": ["x", "y"], "env": [{"name": "E", "value": "1"}]}, injected]}),
            json!({"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "3", "args": ["z"]}]}),
            json!({"containers": [{"name": "a", "image": "3", "args": ["z"], "env": [{"name": "E", "value": "1"}]}, injected, {"name": "b", "image": "2"}]}),
        );
        let live = json!({"containers": [{"name": "a", "args": ["x"]}, {"name": "b"}]});
        let manifest = json!({"containers": [{"name": "a"}]});
        assert_eq!(applied(&live, &manifest, Merge::Json), manifest);
    }

    #[test]
    fn ports_that_share_a_number_are_replaced() {
        let live = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]});
        let manifest = json!({"ports": [{"port": 53, "protocol": "UDP"}]});
        check(live, manifest.clone(), manifest);
    }
}
