//! The `scale` subresource: how many replicas something has, in `autoscaling/v1`, or in the version of an old group that has a Scale of its own.
//!
//! Sources: Kubernetes 1.36 `pkg/registry/apps/*/storage/storage.go` and `pkg/registry/core/replicationcontroller/storage/storage.go`, and those of
//! 1.15 with `pkg/apis/{extensions/v1beta1,apps/v1beta1,apps/v1beta2}/conversion.go` for the old groups; apiextensions-apiserver v0.36
//! `pkg/registry/customresource/etcd.go` for custom resources.

use ketcd_kube::LabelSelector;
use ketcd_kube::api::{Resource, api_version};
use serde_json::{Map, Value, json};

use crate::wire::{Result, Status};

/// Returns the group and version of the scales of a resource.
pub(crate) fn group_version(resource: &Resource) -> (&str, &str) {
    match (resource.group.as_str(), resource.version.as_str()) {
        own @ (("extensions", "v1beta1") | ("apps", "v1beta1" | "v1beta2")) => own,
        _ => ("autoscaling", "v1"),
    }
}

/// Returns the scale of an object, as it is stored.
pub(crate) fn of(resource: &Resource, object: &Value) -> Result<Value> {
    let scale = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref());
    let path = |field: &str, usual: &'static str| scale.map_or(usual, |scale| scale[field].as_str().unwrap_or_default()).to_owned();
    let (wanted, actual) = (path("specReplicasPath", ".spec.replicas"), path("statusReplicasPath", ".status.replicas"));
    let Some(replicas) = at_path(object, &wanted).and_then(Value::as_i64) else {
        return Err(Status::internal(format!("the spec replicas field {wanted:?} does not exist")));
    };
    let mut status = Map::new();
    status.insert("replicas".to_owned(), at_path(object, &actual).and_then(Value::as_i64).unwrap_or(0).into());
    let selector = match scale {
        Some(scale) => {
            scale["labelSelectorPath"].as_str().and_then(|path| at_path(object, path)).and_then(Value::as_str).map(str::to_owned)
        }
        None => selector_text(&object["spec"]["selector"]),
    };
    let (group, version) = group_version(resource);
    // An old scale has a map in addition to the text. A map can only hold labels.
    let is_old = group != "autoscaling";
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status.insert(if is_old { "targetSelector" } else { "selector" }.to_owned(), selector.into());
    }
    if let (true, Some(labels)) = (is_old, selector_labels(&object["spec"]["selector"])) {
        status.insert("selector".to_owned(), labels.clone());
    }
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    let own = &object["metadata"];
    let fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Map<String, Value> = fields.iter().filter_map(|field| Some(((*field).to_owned(), own.get(field)?.clone()))).collect();
    Ok(json!({"kind": "Scale", "apiVersion": api_version(group, version), "metadata": metadata, "spec": spec, "status": status}))
}

/// The value at a dotted path such as `.spec.replicas`.
fn at_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(object, |value, part| value.get(part))
}

/// The selector of a workload; a replication controller's is a map of labels.
fn selector_text(selector: &Value) -> Option<String> {
    let is_map = selector.as_object()?.values().all(Value::is_string);
    let whole = if is_map { json!({"matchLabels": selector}) } else { selector.clone() };
    LabelSelector::from_object(&whole).map(|selector| selector.to_string())
}

/// The labels of a selector that asks for nothing else.
fn selector_labels(selector: &Value) -> Option<&Value> {
    let is_empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
    let labels = selector.get("matchLabels").filter(|_| is_empty(&selector["matchExpressions"]));
    labels.filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()))
}

#[cfg(test)]
mod tests {
    use ketcd_kube::Release;

    use super::*;
    use ketcd_kube::api::Catalog;

    fn check(resource: (&str, &str), spec: &Value, wanted: &Value) {
        let catalog = Catalog::new(Release(15), &[]);
        let resource = catalog.find(resource.0, resource.1, "deployments").unwrap();
        assert!(resource.subresources.iter().any(|own| own == "scale"));
        let scale = of(resource, &json!({"metadata": {"name": "web"}, "spec": spec, "status": {"replicas": 2}})).unwrap();
        assert_eq!(json!([scale["apiVersion"], scale["status"]]), *wanted);
        assert!(ketcd_kube::encode(&scale, Release(15)).unwrap().is_some());
    }

    #[test]
    fn old_groups_have_scales_of_their_own() {
        let labels = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web", "tier": "front"}}});
        check(("apps", "v1"), &labels, &json!(["autoscaling/v1", {"replicas": 2, "selector": "app=web,tier=front"}]));
        for (group, version) in [("extensions", "v1beta1"), ("apps", "v1beta1"), ("apps", "v1beta2")] {
            let wanted = json!({"replicas": 2, "selector": {"app": "web", "tier": "front"}, "targetSelector": "app=web,tier=front"});
            check((group, version), &labels, &json!([format!("{group}/{version}"), wanted]));
        }
        let expressions = json!({"replicas": 3, "selector": {
            "matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["front"]}]}});
        let wanted = json!({"replicas": 2, "targetSelector": "app=web,tier in (front)"});
        check(("extensions", "v1beta1"), &expressions, &json!(["extensions/v1beta1", wanted]));
    }
}
