//! Who ends pods: a deletion waits for a grace period, and the request that ends it removes the pod.
//!
//! A DELETE without grace writes `deletionGracePeriodSeconds: 0` and removes the key in the same request (apiserver
//! pkg/registry/generic/registry/store.go, `updateForGracefulDeletionAndFinalizers`), unless finalizers are left: then the writer that
//! takes off the last one removes it. A kubelet sends that DELETE for pods whose grace runs, when no container of theirs runs any more (kubelet
//! pkg/kubelet/status/status_manager.go, `canBeDeleted`); everybody else may send it at any time.

use serde_json::Value;

use super::identity::{Actor, CONTROLLER_MANAGER, scheduler_of};
use ketcd_kube::{Object, condition};

/// Finalizers that controllers of Kubernetes itself take off.
const OF_CONTROLLERS: [&str; 3] = ["batch.kubernetes.io/job-tracking", "foregroundDeletion", "orphan"];

/// Who asked for a pod's deletion or cut its grace short, by its version before and after.
pub(super) fn asked(before: &Value, after: &Value) -> Option<Actor> {
    if !ends_grace(before, after) {
        return disrupted(after);
    }
    let is_kubelet = after["spec"]["nodeName"].is_string() && !is_running(after);
    is_kubelet.then(|| Actor::inferred("kubelet")).or_else(|| forced(before, after))
}

/// Who ended the grace of a pod in the kubelet's place, where a mark of the pod's says so.
pub(super) fn forced(before: &Value, after: &Value) -> Option<Actor> {
    let is_marked = condition(after, "DisruptionTarget").is_some_and(|marked| marked["reason"] == "DeletionByPodGC");
    (ends_grace(before, after) && is_marked).then(|| disrupted(after)).flatten()
}

/// Who removed a pod, given its last version and the one before that.
pub(super) fn removed(earlier: Option<&Object>, last: &Value) -> [Option<Actor>; 2] {
    if has_finalizers(last) {
        let mut finalizers = last["metadata"]["finalizers"].as_array().into_iter().flatten();
        let are_known = finalizers.all(|name| name.as_str().is_some_and(|name| OF_CONTROLLERS.contains(&name)));
        return [are_known.then(|| Actor::inferred(CONTROLLER_MANAGER)), None];
    }
    match earlier.filter(|earlier| is_over(last) && !is_over(earlier)) {
        Some(earlier) => [asked(earlier, last), forced(earlier, last)],
        None => [None, None],
    }
}

fn disrupted(pod: &Value) -> Option<Actor> {
    condition(pod, "DisruptionTarget").filter(|marked| marked["status"] == "True").and_then(|marked| disruptor(marked, pod))
}

pub(super) fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

/// Whether a pod is being deleted and has no grace left.
fn is_over(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string() && pod["metadata"]["deletionGracePeriodSeconds"] == 0
}

/// Whether the grace of a pod that was being deleted came to its end with a version.
fn ends_grace(before: &Value, after: &Value) -> bool {
    is_over(after) && !is_over(before) && before["metadata"]["deletionTimestamp"].is_string()
}

/// Whether a container of a pod runs, as its kubelet said last.
fn is_running(pod: &Value) -> bool {
    let containers = ["containerStatuses", "initContainerStatuses"].into_iter().filter_map(|list| pod["status"][list].as_array()).flatten();
    containers.into_iter().any(|container| container["state"]["running"].is_object())
}

/// Each reason of DisruptionTarget has one component that sets it (k8s.io/api core/v1, PodReason…).
pub(super) fn disruptor(marked: &Value, pod: &Value) -> Option<Actor> {
    match marked["reason"].as_str()? {
        "EvictionByEvictionAPI" => Some(Actor::inferred("kube-apiserver")),
        "PreemptionByScheduler" => Some(Actor::inferred(scheduler_of(pod))),
        "DeletionByTaintManager" | "DeletionByPodGC" | "DeletionByDeviceTaintManager" => Some(Actor::inferred(CONTROLLER_MANAGER)),
        "TerminationByKubelet" => Some(Actor::inferred("kubelet")),
        _ => None,
    }
}
