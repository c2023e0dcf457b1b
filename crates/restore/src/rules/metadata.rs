//! Rules for objects of any kind.

use serde_json::Value;

use super::edit::{members, remove, remove_marks, remove_of};
use crate::identity::is;
use crate::pod_template;

/// kubectl's copy of what it applied last (k8s.io/api `core/v1`, `LastAppliedConfigAnnotation`).
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations that controllers and the API server keep their state in. Sources: `pkg/controller/deployment/util`, `pkg/controller/daemon`,
/// `pkg/controller/endpoint`, `pkg/apis/autoscaling/annotations.go`, `client-go/tools/leaderelection`, `plugin/pkg/admission/limitranger`.
const CONTROLLER_ANNOTATIONS: &[&str] = &[
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deployment.kubernetes.io/replicas-before-deletion",
    "deprecated.daemonset.template.generation",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "endpoints.kubernetes.io/over-capacity",
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "batch.kubernetes.io/job-tracking",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "control-plane.alpha.kubernetes.io/leader",
    "kubernetes.io/limit-ranger",
    "node.alpha.kubernetes.io/ttl",
    "volumes.kubernetes.io/controller-managed-attach-detach",
    "kubernetes.io/psp",
];

pub(super) fn status(object: &mut Value) -> bool {
    remove(object, "", &["status"])
}

pub(super) fn uid(object: &mut Value) -> bool {
    remove(object, "/metadata", &["uid", "selfLink"])
}

pub(super) fn resource_version(object: &mut Value) -> bool {
    remove(object, "/metadata", &["resourceVersion", "generation"])
}

pub(super) fn timestamps(object: &mut Value) -> bool {
    const SET_BY_SERVER: &[&str] = &["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    let mut is_changed = remove(object, "/metadata", SET_BY_SERVER);
    // Up to 1.33 API servers write `creationTimestamp: null` into templates.
    for pointer in [pod_template::pointer(object).unwrap_or_default(), "/spec/jobTemplate"] {
        is_changed |= !pointer.is_empty() && remove(object, &format!("{pointer}/metadata"), SET_BY_SERVER);
        drop_if_empty(object, pointer);
    }
    let claims = object.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut);
    claims.into_iter().flatten().for_each(|claim| is_changed |= remove(claim, "/metadata", SET_BY_SERVER));
    is_changed
}

/// Removes an empty `metadata` that only held a timestamp.
fn drop_if_empty(object: &mut Value, template: &str) {
    if !template.is_empty()
        && let Some(template) = members(object, template)
        && template.get("metadata").and_then(Value::as_object).is_some_and(|metadata| metadata.is_empty())
    {
        template.remove("metadata");
    }
}

pub(super) fn managed_fields(object: &mut Value) -> bool {
    remove(object, "/metadata", &["managedFields"])
}

pub(super) fn last_applied(object: &mut Value) -> bool {
    remove_marks(object, "/metadata", "annotations", |name| name == LAST_APPLIED)
}

pub(super) fn controller_annotations(object: &mut Value) -> bool {
    remove_marks(object, "/metadata", "annotations", |name| CONTROLLER_ANNOTATIONS.contains(&name))
}

pub(super) fn finalizers(object: &mut Value) -> bool {
    let mut is_changed = remove(object, "/metadata", &["finalizers"]);
    if is(object, "", "Namespace") {
        is_changed |= remove(object, "/spec", &["finalizers"]);
        let is_empty = object["spec"].as_object().is_some_and(|spec| spec.is_empty());
        if is_empty && let Some(namespace) = members(object, "") {
            remove_of(namespace, |name| name == "spec");
        }
    }
    is_changed
}

pub(super) fn owner_references(object: &mut Value) -> bool {
    remove(object, "/metadata", &["ownerReferences"])
}
