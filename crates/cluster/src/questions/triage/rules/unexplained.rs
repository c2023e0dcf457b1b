//! Warning Events that occur often and that no finding explains.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_kube::condition;
use ketcd_store::{KeyRange, Want};

use super::events::Warning;
use super::facts::Facts;
use super::object::{text, time};
use super::rule_finding::Named;
use crate::cluster::built_in;
use crate::error::Result;
use crate::related::owners::{Owner, decoded, owners};
use crate::rights::refused::unless_denied;

/// What occurs less often may be over.
const MIN_OCCURRENCES: i64 = 10;
/// What occurred last longer ago is over. A core Event is written at each occurrence, and beyond 25 once in five minutes (client-go 1.36,
/// tools/record/events_cache.go, `defaultSpamQPS`). A series is written when it begins, six minutes after it ended, and every thirty minutes in between
/// (tools/events/event_broadcaster.go, `finishTime`, `refreshTime`): one that goes on may be missed here; the scheduler's, which are such, are findings.
const MAX_EVENT_AGE: SignedDuration = SignedDuration::from_mins(15);
/// More objects are not looked at.
const MAX_OBJECTS_CHECKED: usize = 50;

/// Returns them, those that occur most often first.
pub(super) async fn warnings(facts: &mut Facts<'_>, findings: &[Finding]) -> Result<Vec<Warning>> {
    let now = facts.now;
    let all = facts.warnings().await?;
    let is_recent = |warning: &&Warning| match (now, warning.last) {
        (Some(now), Some(last)) => now.duration_since(last) <= MAX_EVENT_AGE,
        _ => false,
    };
    let mut often: Vec<&Warning> = all.iter().filter(|warning| warning.count >= MIN_OCCURRENCES).filter(is_recent).collect();
    often.sort_by_key(|warning| std::cmp::Reverse(warning.count));
    let mut known = BTreeSet::new();
    findings.iter().for_each(|finding| collect(finding, &mut known));
    let mut found = Vec::new();
    for warning in often.into_iter().take(MAX_OBJECTS_CHECKED) {
        if !known.contains(&named(&warning.subject)) && goes_on(facts, warning, &known).await? {
            found.push(warning.clone());
        }
    }
    Ok(found)
}

fn named(subject: &Subject) -> Named {
    (subject.kind.clone(), subject.namespace.clone(), subject.name.clone())
}

fn collect(finding: &Finding, into: &mut BTreeSet<Named>) {
    into.extend(finding.subjects.iter().chain(&finding.owner).map(named));
    finding.effects.iter().for_each(|effect| collect(effect, into));
}

/// Whether the object of a Warning is there, and neither its owners nor its node have a finding.
async fn goes_on(facts: &Facts<'_>, warning: &Warning, known: &BTreeSet<Named>) -> Result<bool> {
    let (cluster, subject) = (facts.cluster, &warning.subject);
    let Ok(kind) = built_in().find(&subject.kind.to_lowercase()) else { return Ok(true) };
    let namespace = Some(subject.namespace.as_str()).filter(|_| kind.namespaced);
    let key = KeyRange::key(kind.key(cluster.prefix().await?, namespace, &subject.name));
    let Some(mut entries) = unless_denied(cluster.source.first(key, cluster.at, Want::Values, 1).await)? else { return Ok(true) };
    let Some(object) = entries.pop().and_then(|entry| decoded(cluster, Some(kind), entry)) else { return Ok(false) };
    let is_another = !subject.uid.is_empty() && subject.kind != "Node" && !object.uid().is_empty() && object.uid() != subject.uid;
    let node = object.object["spec"]["nodeName"].as_str().unwrap_or_default();
    let is_over = match subject.kind.as_str() {
        "Pod" => is_over(&object.object, warning),
        _ => warning.reason == "FailedCreate" && has_all(&object.object),
    };
    if is_another || is_over || known.contains(&("Node".to_owned(), String::new(), node.to_owned())) {
        return Ok(false);
    }
    let above = owners(cluster, &object.object, cluster.at).await?;
    let part = |owner: &Owner, pointer: &str| text(&owner.reference, pointer).to_owned();
    Ok(!above.iter().any(|owner| known.contains(&(part(owner, "/kind"), subject.namespace.clone(), part(owner, "/name")))))
}

/// Whether a pod has come further since: it has ended, has found the node that was looked for, or became ready after that.
fn is_over(pod: &Value, warning: &Warning) -> bool {
    let ready = condition(pod, "Ready").filter(|ready| ready["status"] == "True");
    let became_ready = ready.and_then(|ready| time(ready, "/lastTransitionTime"));
    let is_ready_since = became_ready.is_some_and(|ready| warning.last.is_some_and(|last| ready >= last));
    let is_bound = warning.reason == "FailedScheduling" && !text(pod, "/spec/nodeName").is_empty();
    is_bound || is_ready_since || text(pod, "/status/phase") == "Succeeded"
}

/// Whether a controller has made all of its pods by now.
fn has_all(workload: &Value) -> bool {
    let count = |pointer: &str| workload.pointer(pointer).and_then(Value::as_i64);
    let (made, wanted) = match workload["kind"].as_str().unwrap_or_default() {
        "DaemonSet" => (count("/status/currentNumberScheduled"), count("/status/desiredNumberScheduled")),
        "Job" => (count("/status/active"), count("/spec/parallelism")),
        _ => (count("/status/replicas"), count("/spec/replicas")),
    };
    made.is_some() && made >= wanted || !workload["status"]["completionTime"].is_null()
}
