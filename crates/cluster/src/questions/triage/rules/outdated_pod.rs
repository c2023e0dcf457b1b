//! StatefulSets that wait for a broken pod of an old template: the template is newer, and somebody has to delete the pod.
//!
//! Kubernetes 1.36: pkg/controller/statefulset/stateful_set_control.go, `processReplica`: with `OrderedReady` the controller waits for a pod that is not
//! running and ready before it updates any, so it never replaces this one; `updateStatefulSet`: with `OnDelete` it replaces none. It replaces a pod that has
//! ended. "Forced rollback" in kubernetes.io/docs/concepts/workloads/controllers/statefulset: the template may be the one of before again, and
//! `updateRevision` is `currentRevision` then.

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_kube::condition;

use super::facts::{Facts, Kind};
use super::object::{is_owned_by, named, number, text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const STATEFUL_SETS_KIND: &Kind = &Kind { path: "statefulsets", namespaced: true, fields: None };
const REVISION_LABEL: &str = "controller-revision-hash";

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let mut found = Vec::new();
    for set in facts.all(STATEFUL_SETS_KIND).await?.iter().filter(|set| may_wait(set)) {
        let subject = Subject::of(set);
        let newest = text(set, "/status/updateRevision");
        let pods = facts.pods(&subject.namespace).await?;
        let is_broken = |pod: &&Value| is_owned_by(pod, &subject.uid) && is_outdated(pod, newest, set) && !is_ready(pod);
        let mut broken: Vec<&Value> = pods.iter().filter(is_broken).collect();
        broken.sort_by_key(|pod| ordinal(pod));
        let Some(&pod) = broken.first() else { continue };
        let revision = pod["metadata"]["labels"][REVISION_LABEL].as_str().unwrap_or_default();
        let about = [text(pod, "/metadata/name"), revision, newest].map(str::to_owned).to_vec();
        let ready = condition(pod, "Ready").and_then(|ready| time(ready, "/lastTransitionTime"));
        let since = ready.or_else(|| time(pod, "/metadata/creationTimestamp"));
        let trouble = Trouble { since, about, ..Trouble::new(TroubleKind::OutdatedPodKept) };
        if trouble.is_due(facts.now) {
            let count = broken.len();
            found.push(RuleFinding { pods: count, ..RuleFinding::new(subject, trouble).explaining(broken.into_iter().map(named)) });
        }
    }
    Ok(found)
}

/// Whether a set waits for each of its pods to be ready, or replaces none, has seen its newest template, and has pods of an older one. One that is being
/// deleted does neither.
fn may_wait(set: &Value) -> bool {
    let strategy = text(set, "/spec/updateStrategy/type");
    let waits = strategy == "OnDelete" || text(set, "/spec/podManagementPolicy") != "Parallel";
    let has_seen = number(set, "/status/observedGeneration") >= number(set, "/metadata/generation");
    let has_outdated = number(set, "/status/updatedReplicas") < set["spec"]["replicas"].as_i64().unwrap_or(1);
    waits && has_seen && has_outdated && !text(set, "/status/updateRevision").is_empty() && set["metadata"]["deletionTimestamp"].is_null()
}

fn is_outdated(pod: &Value, newest: &str, set: &Value) -> bool {
    let revision = pod["metadata"]["labels"][REVISION_LABEL].as_str();
    // Those below the partition keep their template, and those behind the last replica are removed.
    let start = number(set, "/spec/ordinals/start");
    let least = start + number(set, "/spec/updateStrategy/rollingUpdate/partition");
    let end = start + set["spec"]["replicas"].as_i64().unwrap_or(1);
    let is_meant = (least..end).contains(&ordinal(pod));
    pod["metadata"]["deletionTimestamp"].is_null() && revision.is_some_and(|revision| revision != newest) && is_meant
}

/// Running and ready, as the controller asks. A pod that has failed is replaced.
fn is_ready(pod: &Value) -> bool {
    let phase = text(pod, "/status/phase");
    let ready = condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True");
    phase == "Running" && ready || matches!(phase, "Failed" | "Succeeded")
}

fn ordinal(pod: &Value) -> i64 {
    text(pod, "/metadata/name").rsplit_once('-').and_then(|(_, ordinal)| ordinal.parse().ok()).unwrap_or(0)
}
