//! What is worth knowing of a controller of pods: how many it wants and has, how it replaces them, and what they are made of.

use serde_json::Value;

use super::page::Page;
use super::{Look, containers, metadata};
use crate::table::fields::{at, flag, int, int_or, list, selector, text};
use crate::value::plain;

const WORKLOAD_KINDS: [&str; 7] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "CronJob"];

pub(super) fn is_workload(kind: &str) -> bool {
    WORKLOAD_KINDS.contains(&kind)
}

pub(super) fn add(kind: &str, object: &Value, look: Look<'_>, page: &mut Page) {
    let (spec, status) = (&object["spec"], &object["status"]);
    match kind {
        "CronJob" => add_cron_job(spec, status, look, page),
        "Job" => add_job(spec, status, look, page),
        "DaemonSet" => page.field(0, "Pods", counts(status, DAEMON_COUNTS)),
        _ => page.field(0, "Replicas", format!("{} desired, {}", int_or(spec, "replicas", 1), counts(status, REPLICA_COUNTS))),
    }
    page.field(0, "Paused", if flag(spec, "paused") { "yes" } else { "" });
    let strategy = at(spec, "strategy").or_else(|| at(spec, "updateStrategy"));
    page.field(0, "Strategy", strategy.map(plain).unwrap_or_default());
    page.field(0, "Minimum ready", seconds(spec, "minReadySeconds"));
    page.field(0, "Selector", own_selector(spec));
    page.field(0, "Service", text(spec, "serviceName"));
    let revisions = ["currentRevision", "updateRevision"].map(|field| text(status, field));
    page.field(0, "Revisions", if revisions[0] == revisions[1] { revisions[0].to_owned() } else { revisions.join(" → ") });
    let claims = list(spec, "volumeClaimTemplates").iter();
    page.list(0, "Volume claims", claims.map(|claim| format!("{} {}", text(claim, "metadata.name"), plain(&claim["spec"]))).collect());
    page.field(0, "Observed", observed(object));
    let template = at(spec, "template").or_else(|| at(spec, "jobTemplate.spec.template"));
    if let Some(template) = template {
        page.heading(0, "Pod template");
        page.list(1, "Labels", metadata::pairs(at(template, "metadata.labels"), usize::MAX));
        page.field(1, "Service account", text(template, "spec.serviceAccountName"));
        page.list(1, "Node selector", metadata::pairs(at(template, "spec.nodeSelector"), usize::MAX));
        page.list(1, "Tolerations", list(template, "spec.tolerations").iter().map(super::pod::toleration).collect());
        containers::add(&template["spec"], &Value::Null, look, page);
    }
}

/// Fields of a status that count pods, and what they are called.
type Counts = &'static [(&'static str, &'static str)];

const REPLICA_COUNTS: Counts = &[
    ("replicas", "total"),
    ("updatedReplicas", "updated"),
    ("readyReplicas", "ready"),
    ("availableReplicas", "available"),
    ("unavailableReplicas", "unavailable"),
    ("terminatingReplicas", "terminating"),
];
const DAEMON_COUNTS: Counts = &[
    ("desiredNumberScheduled", "desired"),
    ("currentNumberScheduled", "current"),
    ("updatedNumberScheduled", "updated"),
    ("numberReady", "ready"),
    ("numberAvailable", "available"),
    ("numberMisscheduled", "misscheduled"),
];
const JOB_COUNTS: Counts = &[("active", "active"), ("ready", "ready"), ("succeeded", "succeeded"), ("failed", "failed")];

fn counts(status: &Value, counts: Counts) -> String {
    let optional = |field: &str| matches!(field, "updatedReplicas" | "unavailableReplicas" | "terminatingReplicas" | "availableReplicas");
    let shown = counts.iter().filter(|(field, _)| at(status, field).is_some() || !optional(field));
    shown.map(|(field, word)| format!("{} {word}", int(status, field))).collect::<Vec<_>>().join(", ")
}

fn add_job(spec: &Value, status: &Value, look: Look<'_>, page: &mut Page) {
    let completions = at(spec, "completions").and_then(Value::as_i64).map_or("any number of".to_owned(), |wanted| wanted.to_string());
    let mode = text(spec, "completionMode");
    let mode = if mode.is_empty() || mode == "NonIndexed" { String::new() } else { format!(" ({mode})") };
    page.field(0, "Pods", counts(status, JOB_COUNTS));
    page.field(0, "Wants", format!("{completions} completions{mode}, {} at a time", int_or(spec, "parallelism", 1)));
    page.field(0, "Backoff limit", at(spec, "backoffLimit").map(plain).unwrap_or_default());
    page.field(0, "Deadline", seconds(spec, "activeDeadlineSeconds"));
    page.field(0, "Suspended", if flag(spec, "suspend") { "yes" } else { "" });
    for (label, field) in [("Started", "startTime"), ("Completed", "completionTime")] {
        let time = text(status, field);
        page.field(0, label, if time.is_empty() { String::new() } else { format!("{time} ({})", look.ago(at(status, field))) });
    }
    page.field(0, "Failed indexes", text(status, "failedIndexes"));
}

fn add_cron_job(spec: &Value, status: &Value, look: Look<'_>, page: &mut Page) {
    let zone = text(spec, "timeZone");
    page.field(0, "Schedule", format!("{} {zone}", text(spec, "schedule")).trim_end().to_owned());
    page.field(0, "Suspended", if flag(spec, "suspend") { "yes" } else { "no" });
    page.field(0, "Concurrency", text(spec, "concurrencyPolicy"));
    page.field(0, "Starting deadline", seconds(spec, "startingDeadlineSeconds"));
    for (label, field) in [("Last schedule", "lastScheduleTime"), ("Last success", "lastSuccessfulTime")] {
        let time = text(status, field);
        page.field(0, label, if time.is_empty() { "none".to_owned() } else { format!("{time} ({})", look.ago(at(status, field))) });
    }
    page.list(0, "Active jobs", list(status, "active").iter().map(|job| text(job, "name").to_owned()).collect());
}

fn seconds(spec: &Value, field: &str) -> String {
    match int(spec, field) {
        0 => String::new(),
        seconds => format!("{seconds}s"),
    }
}

/// A ReplicationController's selector is a plain map.
fn own_selector(spec: &Value) -> String {
    let own = at(spec, "selector");
    match own.and_then(Value::as_object).is_some_and(|map| !map.is_empty() && map.values().all(Value::is_string)) {
        true => metadata::pairs(own, usize::MAX).join(","),
        false => own.map_or(String::new(), |own| selector(Some(own))),
    }
}

/// Shown only if the controller has not seen the newest spec.
fn observed(object: &Value) -> String {
    let (wanted, seen) = (int(object, "metadata.generation"), int(object, "status.observedGeneration"));
    if seen == 0 || seen >= wanted {
        String::new()
    } else {
        format!("generation {seen} of {wanted}: the controller has not seen the newest")
    }
}
