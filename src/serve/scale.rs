//! The `scale` subresource: how many replicas something has, in `autoscaling/v1`.
//!
//! Sources: Kubernetes 1.36 `pkg/registry/apps/*/storage/storage.go` and `pkg/registry/core/replicationcontroller/storage/storage.go`;
//! apiextensions-apiserver v0.36 `pkg/registry/customresource/etcd.go` for custom resources.

use ketcd_kube::LabelSelector;
use serde_json::{Map, Value, json};

use super::get::at_path;
use super::resources::Resource;
use super::status::{Result, Status};

/// Returns the scale of an object, as it is stored.
pub(super) fn of(resource: &Resource, object: &Value) -> Result<Value> {
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
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status.insert("selector".to_owned(), selector.into());
    }
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    let own = &object["metadata"];
    let fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Map<String, Value> = fields.iter().filter_map(|field| Some(((*field).to_owned(), own.get(field)?.clone()))).collect();
    Ok(json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}))
}

/// The selector of a workload; a replication controller's is a map of labels.
fn selector_text(selector: &Value) -> Option<String> {
    let is_map = selector.as_object()?.values().all(Value::is_string);
    let whole = if is_map { json!({"matchLabels": selector}) } else { selector.clone() };
    LabelSelector::from_object(&whole).map(|selector| selector.to_string())
}
