//! Jobs, StatefulSets and DaemonSets that make no pods: no condition of theirs says why, an Event does.
//!
//! Kubernetes 1.36: pkg/controller/controller_utils.go, `FailedCreatePodReason`: where an API server refuses a pod, the controller records `FailedCreate`
//! with the error; that of StatefulSets does in statefulset/stateful_pod_control.go, `recordPodEvent`. Only ReplicaSets, ReplicationControllers and what
//! stands above them have a condition (`ReplicaFailure`).

use std::collections::BTreeSet;

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_kube::condition;

use super::facts::{Facts, Kind};
use super::object::{number, text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const JOBS_KIND: &Kind = &Kind { path: "jobs", namespaced: true, fields: None };
const REFUSAL_REASONS: &[&str] = &["FailedCreate"];

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let mut found = Vec::new();
    for job in &facts.made_of(JOBS_KIND, |job| waits_for_pods(&job).then_some(job)).await? {
        let subject = Subject::of(job);
        if facts.owners_of_pods(&subject.namespace).await?.contains(&subject.uid) {
            continue;
        }
        let numbers = Some((0, number(job, "/spec/parallelism").max(1)));
        let since = time(job, "/status/startTime").or_else(|| time(job, "/metadata/creationTimestamp"));
        let refused = facts.warning(("Job", &subject.namespace, &subject.name), REFUSAL_REASONS).await?;
        let kind = if refused.is_some() { TroubleKind::PodsRefused } else { TroubleKind::JobWithoutPods };
        let message = refused.map(|refused| refused.message);
        let without = Trouble { since, numbers, message, ..Trouble::new(TroubleKind::JobWithoutPods) };
        if without.is_due(facts.now) {
            found.push(RuleFinding::new(subject, Trouble { kind, ..without }));
        }
    }
    found.extend(short(facts).await?);
    Ok(found)
}

/// Whether a job should have pods, and its controller knows of none. A job of another controller is left out (job_controller.go,
/// `managedByExternalController`).
fn waits_for_pods(job: &Value) -> bool {
    let is_of_another = !matches!(text(job, "/spec/managedBy"), "" | "kubernetes.io/job-controller");
    let is_off = job["spec"]["suspend"] == true || !job["metadata"]["deletionTimestamp"].is_null() || is_of_another;
    let is_over = ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"]
        .iter()
        .any(|kind| condition(job, kind).is_some_and(|condition| condition["status"] == "True"));
    let counted = ["active", "ready", "succeeded", "failed", "terminating"];
    let has_none = counted.iter().all(|field| number(job, &format!("/status/{field}")) == 0);
    let uncounted = job["status"]["uncountedTerminatedPods"]
        .as_object()
        .is_none_or(|lists| lists.values().all(|list| list == &Value::Array(Vec::new())));
    let is_wanted = ["parallelism", "completions"].iter().all(|field| job["spec"][*field].as_i64() != Some(0));
    !is_off && !is_over && has_none && uncounted && is_wanted
}

/// StatefulSets and DaemonSets that are short of pods, whose newest attempt to make one was refused.
async fn short(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for finding in facts.troubled(TroubleKind::Short) {
        let [subject] = &finding.subjects[..] else { continue };
        let is_of = matches!(subject.kind.as_str(), "StatefulSet" | "DaemonSet");
        if !is_of || !seen.insert((&subject.namespace, &subject.name)) {
            continue;
        }
        let refused = facts.warning((&subject.kind, &subject.namespace, &subject.name), REFUSAL_REASONS).await?;
        let Some(refused) = refused.filter(|refused| refused.last >= finding.trouble.counts_from) else { continue };
        let trouble = Trouble { message: Some(refused.message), kind: TroubleKind::PodsRefused, ..finding.trouble.clone() };
        let found_one = RuleFinding::new(subject.clone(), trouble).instead_of(&[TroubleKind::Short]);
        found.push(RuleFinding { pods: finding.pods, only_replaces: true, ..found_one });
    }
    Ok(found)
}
