//! Actors inferred from what a change did, where the object records none.

use serde_json::Value;

use super::ending;
use super::identity::{Actor, CONTROLLER_MANAGER, scheduler_of};
use ketcd_kube::{Object, condition};

pub(super) fn creation(object: &Value) -> Option<Actor> {
    // Each namespace gets these two from controllers of their own (serviceaccounts_controller.go, rootcacertpublisher).
    if [("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")]
        .contains(&(object["kind"].as_str()?, object["metadata"]["name"].as_str()?))
    {
        return Some(Actor::inferred(CONTROLLER_MANAGER));
    }
    let owner = object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)?;
    match owner["kind"].as_str()? {
        "Node" => Some(Actor::inferred("kubelet").on(owner["name"].as_str())),
        "ReplicaSet" | "ReplicationController" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" | "CronJob" => {
            Some(Actor::inferred(CONTROLLER_MANAGER))
        }
        _ => None,
    }
}

/// Who deleted the object, given its last version and the one before that: the likeliest, and another that may have.
pub(super) fn deletion(object: &Value, earlier: Option<&Object>) -> [Option<Actor>; 2] {
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => ending::removed(earlier, object),
        "Event" => [Some(Actor::inferred("etcd lease")), None],
        // The writer who removes the last finalizer deletes the namespace. With none in metadata, that is the namespace controller.
        "Namespace" if !ending::has_finalizers(object) => [Some(Actor::inferred(CONTROLLER_MANAGER)), None],
        _ => [None, None],
    }
}

/// Who wrote the second version over the first.
pub(super) fn update(before: &Value, after: &Value) -> Option<Actor> {
    match after["kind"].as_str()? {
        "Pod" => pod_update(before, after),
        // The API server writes it on behalf of the client; it also changes a namespace's phase.
        _ if before["metadata"]["deletionTimestamp"] != after["metadata"]["deletionTimestamp"] => None,
        "Node" => {
            let beat = |object: &Value| {
                object["status"]["conditions"].as_array().into_iter().flatten().map(|c| c["lastHeartbeatTime"].clone()).collect::<Vec<_>>()
            };
            if before["spec"]["taints"] != after["spec"]["taints"] {
                return by_condition(before, after).then(|| Actor::inferred(CONTROLLER_MANAGER));
            }
            (beat(before) != beat(after)).then(|| Actor::inferred("kubelet").on(after["metadata"]["name"].as_str()))
        }
        "ReplicaSet"
        | "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "CronJob"
        | "ReplicationController"
        | "Namespace"
        | "PodDisruptionBudget"
        | "ResourceQuota"
        | "HorizontalPodAutoscaler"
            if before["status"] != after["status"] && before["spec"] == after["spec"] || numbered(before, after) =>
        {
            Some(Actor::inferred(CONTROLLER_MANAGER))
        }
        "Endpoints" | "EndpointSlice" | "PersistentVolume" | "PersistentVolumeClaim" => Some(Actor::inferred(CONTROLLER_MANAGER)),
        _ => None,
    }
}

/// Whether only the annotations of the deployment controller changed.
fn numbered(before: &Value, after: &Value) -> bool {
    const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";
    let annotation = |object: &Value| object["metadata"]["annotations"][REVISION_ANNOTATION].clone();
    after["kind"] == "Deployment" && before["spec"] == after["spec"] && annotation(before) != annotation(after)
}

/// Whether all taints that came or went are those that the node lifecycle controller keeps in step with conditions and cordons
/// (k8s.io/kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go).
fn by_condition(before: &Value, after: &Value) -> bool {
    const KEPT_CONDITIONS: [&str; 7] =
        ["not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable", "unschedulable"];
    let taints = |node: &'_ Value| node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let (old, new) = (taints(before), taints(after));
    let same = |a: &Value, b: &Value| a["key"] == b["key"] && a["value"] == b["value"] && a["effect"] == b["effect"];
    let turned = |from: &[Value], to: &[Value]| -> Vec<Value> {
        from.iter().filter(|taint| !to.iter().any(|other| same(taint, other))).cloned().collect()
    };
    let turned = [turned(&old, &new), turned(&new, &old)].concat();
    let kept = |taint: &Value| {
        taint["key"].as_str().and_then(|key| key.strip_prefix("node.kubernetes.io/")).is_some_and(|key| KEPT_CONDITIONS.contains(&key))
    };
    !turned.is_empty() && turned.iter().all(kept)
}

/// Binding, graceful deletion and, before managedFields, everything else leave only their effect.
fn pod_update(before: &Value, after: &Value) -> Option<Actor> {
    let changed =
        |path: &[&str]| path.iter().fold(before, |value, name| &value[name]) != path.iter().fold(after, |value, name| &value[name]);
    if changed(&["spec", "nodeName"]) {
        return Some(Actor::inferred(scheduler_of(after)));
    }
    if changed(&["metadata", "deletionTimestamp"]) || changed(&["metadata", "deletionGracePeriodSeconds"]) {
        return ending::asked(before, after);
    }
    if changed(&["spec"]) || !changed(&["status"]) {
        return None;
    }
    if let Some(marked) = condition(after, "DisruptionTarget").filter(|marked| condition(before, "DisruptionTarget") != Some(marked)) {
        return ending::disruptor(marked, after);
    }
    if ["containerStatuses", "initContainerStatuses", "podIP", "podIPs", "startTime", "hostIP"]
        .into_iter()
        .any(|field| changed(&["status", field]))
    {
        return Some(Actor::inferred("kubelet"));
    }
    if changed(&["status", "nominatedNodeName"]) || condition(before, "PodScheduled") != condition(after, "PodScheduled") {
        return Some(Actor::inferred(scheduler_of(after)));
    }
    let ready_only = condition(before, "Ready") != condition(after, "Ready")
        && condition(before, "ContainersReady") == condition(after, "ContainersReady");
    Some(Actor::inferred(if ready_only { CONTROLLER_MANAGER } else { "kubelet" }))
}
