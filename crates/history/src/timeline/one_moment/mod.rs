//! The story that a single version of an object tells of itself: by its creation time, its conditions' transitions, its containers' starts and ends,
//! and the times in managedFields.
//!
//! A time tells when something last became as it is; what was before is not told. What has no time is no step.

mod managed;
mod pod;
mod workload;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Phase, Step, items, mark_longest, why};
use crate::clock::Dated;
use ketcd_store::Revision;
use managed::Field;

/// Timestamps in objects are whole seconds, cut off.
const SECOND: f64 = 1.0;

/// Steps in the order in which they follow from each other, where they fall into one second; others come after them.
const ORDER: &[&str] = &[
    "Created",
    "Registered",
    "Gated",
    "Refused",
    "Scheduled",
    "SandboxReady",
    "InitStarted",
    "InitFinished",
    "InitFailed",
    "SidecarStarted",
    "Initialized",
    "ContainersStarted",
    "Terminated",
    "Restarted",
    "Ready",
];

/// A step and its own time.
struct TimedStep {
    step: Step,
    at: Timestamp,
    by: Option<crate::Actor>,
}

/// Gathers the steps of one object.
struct StepCollector<'o> {
    object: &'o Value,
    steps: Vec<TimedStep>,
}

impl<'o> StepCollector<'o> {
    /// A step at the time written in `at`, by the manager of `field` in status; none where there is no time.
    fn add(&mut self, phase: &'static str, detail: impl Into<String>, at: &Value, field: Field<'_>) {
        let Some(at) = time(at) else { return };
        let by = managed::setter(self.object, field);
        self.steps.push(TimedStep { step: Step::new(phase, detail), at, by });
    }

    /// The conditions, each by what `phase` makes of it: its type, its status and itself.
    fn conditions(&mut self, phase: impl Fn(&str, &str, &Value) -> Option<(&'static str, String)>) {
        for condition in items(Some(self.object), ["status", "conditions"]) {
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            if let Some((phase, detail)) = phase(text("type"), text("status"), condition) {
                // The binding writes a condition that others may have managed before, and leaves no trace of its own.
                let field = if phase == "Scheduled" { Field::Elsewhere } else { Field::Condition(text("type")) };
                self.add(phase, detail, &condition["lastTransitionTime"], field);
            }
        }
    }
}

/// The steps that an object tells, in order of time; `revision` is that of the version that shows them.
pub fn phases(object: &Value, revision: Revision) -> Vec<Phase> {
    let mut collector = StepCollector { object, steps: Vec::new() };
    created(&mut collector);
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => pod::collect(&mut collector),
        "Node" => node(&mut collector),
        kind => workload::collect(kind, &mut collector),
    }
    deleting(&mut collector);
    collector.steps.extend(managed::last_writes(object));
    collector.steps.sort_by_key(|told| (told.at, ORDER.iter().position(|phase| *phase == told.step.phase).unwrap_or(ORDER.len())));
    let phase = |told: TimedStep| Phase {
        phase: told.step.phase,
        revision,
        dated: Some(Dated { time: told.at, error: SECOND }),
        by: told.by,
        detail: told.step.detail,
        longest: false,
    };
    let mut phases: Vec<Phase> = collector.steps.into_iter().map(phase).collect();
    mark_longest(&mut phases);
    phases
}

/// The time of a Kubernetes Event by itself: when it was last seen.
pub(super) fn dated(time: Option<Timestamp>) -> Option<Dated> {
    time.map(|time| Dated { time, error: SECOND })
}

fn created(collector: &mut StepCollector<'_>) {
    let object = collector.object;
    let mut steps = super::StepDetector::default().created(object);
    if object["kind"] == "Pod" {
        // Whether a scheduler chose the node is another matter.
        steps.retain(|step| step.phase == "Created");
    }
    let Some(at) = time(&object["metadata"]["creationTimestamp"]) else { return };
    for step in steps.into_iter().filter(|step| matches!(step.phase, "Created" | "Registered")) {
        collector.steps.push(TimedStep { step, at, by: managed::creator(object) });
    }
}

/// When deletion was asked for: the end it was given, less its grace.
fn deleting(collector: &mut StepCollector<'_>) {
    let metadata = &collector.object["metadata"];
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let asked = time(&metadata["deletionTimestamp"]).and_then(|end| end.checked_sub(SignedDuration::from_secs(grace)).ok());
    let Some(at) = asked else { return };
    let held = metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    let detail = match collector.object["kind"].as_str() {
        Some("Pod") => format!("{grace} s to end"),
        _ if held.is_empty() => String::new(),
        _ => format!("held by {held}"),
    };
    collector.steps.push(TimedStep { step: Step::new("Deleting", detail), at, by: None });
}

fn node(collector: &mut StepCollector<'_>) {
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("Ready", "True") => Some(("Ready", String::new())),
        ("Ready", "Unknown") => Some(("HeartbeatLost", super::node::heartbeat_lost(condition))),
        ("Ready", _) => Some(("NotReady", why(condition))),
        (_, "True") => Some(("Pressure", format!("{kind}: {}", why(condition)))),
        _ => None,
    });
    for taint in items(Some(collector.object), ["spec", "taints"]) {
        collector.add("Tainted", super::node::taint(taint), &taint["timeAdded"], Field::Elsewhere);
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(object: &Value) -> Vec<String> {
        let phase = |phase: &Phase| {
            let at = phase.dated.unwrap().time.strftime("%H:%M:%S");
            let by = phase.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            format!("{at} {} {}", phase.phase, phase.detail).trim_end().to_owned() + &by
        };
        phases(object, Revision(7)).iter().map(phase).collect()
    }

    fn at(time: &str) -> String {
        format!("2026-01-01T{time}Z")
    }

    #[test]
    fn a_pod_that_crashed_and_is_being_deleted() {
        let status = json!({"name": "c", "restartCount": 3, "state": {"running": {"startedAt": at("10:05:00")}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": at("10:01:00"), "finishedAt": at("10:04:30")}}});
        let conditions = json!([
            {"type": "Ready", "status": "True", "lastTransitionTime": at("10:05:00")},
            {"type": "Initialized", "status": "True", "lastTransitionTime": at("10:00:01")},
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": at("10:00:01")},
        ]);
        let managed = json!([
            {"manager": "kubectl", "operation": "Update", "time": at("10:00:00"), "fieldsV1": {"f:spec": {"f:containers": {}}}},
            {"manager": "kubelet", "operation": "Update", "time": at("10:05:00"), "subresource": "status",
                "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {}, "k:{\"type\":\"PodScheduled\"}": {}}, "f:containerStatuses": {}}}},
            {"manager": "sealer", "operation": "Apply", "time": at("10:02:00"), "fieldsV1": {"f:metadata": {"f:labels": {"f:seal": {}}}}},
        ]);
        let metadata = json!({"name": "p", "creationTimestamp": at("10:00:00"), "managedFields": managed,
            "deletionTimestamp": at("10:06:30"), "deletionGracePeriodSeconds": 30});
        let pod = json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"},
            "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [status]}});
        assert_eq!(
            told(&pod),
            [
                "10:00:00 Created by kubectl",
                "10:00:01 Scheduled to n1",
                "10:00:01 Initialized",
                "10:02:00 Changed its last write; it manages metadata.labels by sealer",
                "10:04:30 Terminated c: Error, exit 1 by kubelet n1",
                "10:05:00 Restarted c for the 3rd time after Error, exit 1 by kubelet n1",
                "10:05:00 Ready by kubelet n1",
                "10:06:00 Deleting 30 s to end",
            ]
        );
    }

    #[test]
    fn what_has_no_time_or_cannot_be_told_is_no_step() {
        let starting = |ready_since: &str| {
            let conditions = json!([
                {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": at(ready_since)},
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": null},
            ]);
            json!({"kind": "Pod", "metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running", "startTime": at("10:00:00"), "conditions": conditions,
                "containerStatuses": [{"name": "c", "restartCount": 0, "state": {"running": {"startedAt": at("10:00:03")}}}]}})
        };
        // Not ready since before its container ran: it never was.
        assert_eq!(told(&starting("10:00:00")), ["10:00:03 ContainersStarted c"]);
        assert_eq!(told(&starting("10:09:00")), ["10:00:03 ContainersStarted c", "10:09:00 NotReady ContainersNotReady"]);
        let claim =
            json!({"kind": "PersistentVolumeClaim", "metadata": {"creationTimestamp": at("10:00:00")}, "status": {"phase": "Bound"}});
        assert_eq!(told(&claim), ["10:00:00 Created"]);
        let mirror = json!({"kind": "Pod", "metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeName": "n1"},
            "status": {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at("10:00:00")}]}});
        assert!(told(&mirror).is_empty());
    }

    #[test]
    fn nodes_and_workloads() {
        let condition = |kind: &str, status: &str, reason: &str, time: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": at(time), "lastUpdateTime": at(time)});
        let node = json!({"kind": "Node", "metadata": {"creationTimestamp": at("09:00:00")}, "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": at("09:30:00")}]},
            "status": {"nodeInfo": {"kubeletVersion": "v1.36.3"}, "conditions": [condition("Ready", "Unknown", "NodeStatusUnknown", "09:29:00"), condition("DiskPressure", "False", "", "09:00:01")]}});
        assert_eq!(
            told(&node),
            ["09:00:00 Registered kubelet v1.36.3", "09:29:00 HeartbeatLost NodeStatusUnknown", "09:30:00 Tainted k:NoExecute"]
        );
        let deployment = json!({"kind": "Deployment", "metadata": {"creationTimestamp": at("09:00:00")}, "spec": {"replicas": 2},
            "status": {"updatedReplicas": 2, "availableReplicas": 2, "conditions": [condition("Progressing", "True", "NewReplicaSetAvailable", "09:01:00")]}});
        assert_eq!(told(&deployment), ["09:00:00 Created", "09:01:00 RolledOut 2 of 2 up to date, 2 available"]);
        let job = json!({"kind": "Job", "metadata": {"creationTimestamp": at("09:00:00")}, "status": {"startTime": at("09:00:00"), "conditions": [condition("Complete", "True", "", "09:05:00")]}});
        assert_eq!(told(&job), ["09:00:00 Created", "09:00:00 Started", "09:05:00 Succeeded"]);
    }
}
