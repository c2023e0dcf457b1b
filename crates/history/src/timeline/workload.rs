//! Steps of ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, Jobs and CronJobs.

use serde_json::Value;

use super::{CreatedAs, Step, StepDetail, StepKind, TemplateChange, deployment, generic, items, turned, why};

/// Fields whose changes other steps show, or that controllers keep for themselves.
const COVERED_FIELDS: &[&str] = &[
    "spec.template",
    "spec.replicas",
    "spec.suspend",
    "metadata.annotations[deployment.kubernetes.io/",
    "metadata.annotations[deprecated.",
];

/// Returns the steps between two neighbouring versions of an object of `kind`.
pub(super) fn steps(kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
    let Some(before) = before else { return created(kind, after) };
    let mut steps = Vec::new();
    let (old, new) = (&before["spec"]["template"], &after["spec"]["template"]);
    if old != new {
        steps.push(Step::new(StepKind::Rollout, StepDetail::Rollout { change: deployment::changed(old, new), cause: None }));
    }
    steps.extend(deployment::scaled(before, after));
    steps.extend(generic::spec_changed(before, after, COVERED_FIELDS));
    match kind {
        "Job" => job(before, after, &mut steps),
        "CronJob" => cron_job(before, after, &mut steps),
        _ => replicas(kind, before, after, &mut steps),
    }
    generic::ending(before, after, &mut steps);
    steps
}

fn created(kind: &str, object: &Value) -> Vec<Step> {
    let spec = &object["spec"];
    if kind == "CronJob" {
        let schedule = spec["schedule"].as_str().unwrap_or_default().to_owned();
        let zone = spec["timeZone"].as_str().map(str::to_owned);
        return vec![generic::created_as(object, CreatedAs::Schedule { schedule, zone })];
    }
    let images = deployment::images(&spec["template"]);
    let mut steps = vec![generic::created_as(object, CreatedAs::Images(images.clone()))];
    if matches!(kind, "StatefulSet" | "DaemonSet") {
        steps.push(Step::new(StepKind::Rollout, StepDetail::Rollout { change: TemplateChange::Images(images), cause: None }));
    }
    steps
}

fn replicas(kind: &str, before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let wanted = |object: &Value| match kind {
        "DaemonSet" => object["status"]["desiredNumberScheduled"].as_i64().unwrap_or(0),
        _ => object["spec"]["replicas"].as_i64().unwrap_or(1),
    };
    let ready = |object: &Value| object["status"][if kind == "DaemonSet" { "numberReady" } else { "readyReplicas" }].as_i64().unwrap_or(0);
    let made = |object: &Value| object["status"]["replicas"].as_i64().unwrap_or(0);
    let counts = |object: &Value| (if kind == "DaemonSet" { wanted(object) } else { made(object) }, ready(object));
    if counts(before) != counts(after) {
        steps.push(Step::new(StepKind::Progress, StepDetail::ReadyReplicas { ready: ready(after), wanted: wanted(after) }));
    }
    let update = |object: &Value| object["status"]["updateRevision"].as_str().unwrap_or_default().to_owned();
    if kind == "StatefulSet" && update(before) != update(after) && !update(before).is_empty() {
        let detail = StepDetail::Replaced { before: Some(update(before)), after: update(after) };
        steps.push(Step::new(StepKind::Revision, detail));
    }
}

/// Active, succeeded, failed. Pods that ended are first listed one by one and counted later: they have ended all the same.
fn counts(job: &Value) -> [i64; 3] {
    let status = &job["status"];
    let listed = |list: &str| status["uncountedTerminatedPods"][list].as_array().map_or(0, |uids| uids.len() as i64);
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    [count("active"), count("succeeded") + listed("succeeded"), count("failed") + listed("failed")]
}

fn job(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    if counts(before) != counts(after) {
        let [active, succeeded, failed] = counts(after);
        let completions = after["spec"]["completions"].as_i64();
        steps.push(Step::new(StepKind::Progress, StepDetail::JobPods { active, succeeded, completions, failed }));
    }
    let indexes = |job: &Value| job["status"]["failedIndexes"].as_str().unwrap_or_default().to_owned();
    if indexes(before) != indexes(after) && !indexes(after).is_empty() {
        steps.push(Step::new(StepKind::IndexFailed, StepDetail::FailedIndexes(indexes(after))));
    }
    for (condition, phase) in [
        ("FailureTarget", StepKind::Failing),
        ("Complete", StepKind::Succeeded),
        ("Failed", StepKind::Failed),
        ("Suspended", StepKind::Suspended),
    ] {
        match turned(Some(before), after, condition) {
            Some((_, "True", _)) if phase == StepKind::Succeeded => steps.push(Step::new(phase, StepDetail::None)),
            Some((_, "True", now)) => steps.push(Step::new(phase, why(now))),
            Some(("True", _, _)) if phase == StepKind::Suspended => steps.push(Step::new(StepKind::Resumed, StepDetail::None)),
            _ => {}
        }
    }
}

fn cron_job(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (&before["status"]["lastScheduleTime"], &after["status"]["lastScheduleTime"]);
    if let Some(time) = new.as_str().filter(|_| old != new) {
        steps.push(Step::new(StepKind::Fired, StepDetail::Time(time.to_owned())));
    }
    let (old, new) = (items(Some(before), ["status", "active"]), items(Some(after), ["status", "active"]));
    let has = |list: &[Value], job: &Value| list.iter().any(|other| other["uid"] == job["uid"] && other["name"] == job["name"]);
    let name = |job: &Value| StepDetail::Job(job["name"].as_str().unwrap_or_default().to_owned());
    steps.extend(new.iter().filter(|job| !has(old, job)).map(|job| Step::new(StepKind::JobStarted, name(job))));
    steps.extend(old.iter().filter(|job| !has(new, job)).map(|job| Step::new(StepKind::JobEnded, name(job))));
    let (old, new) = (&before["status"]["lastSuccessfulTime"], &after["status"]["lastSuccessfulTime"]);
    if let Some(time) = new.as_str().filter(|_| old != new) {
        steps.push(Step::new(StepKind::JobSucceeded, StepDetail::Time(time.to_owned())));
    }
    if before["spec"]["suspend"] != after["spec"]["suspend"] {
        steps.push(Step::new(if after["spec"]["suspend"] == true { StepKind::Suspended } else { StepKind::Resumed }, StepDetail::None));
    }
}
