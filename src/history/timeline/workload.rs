//! Steps of ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and HorizontalPodAutoscalers.

use serde_json::Value;

use super::{Step, deployment, generic, turned, why};

/// Returns the steps between two neighbouring versions of an object of `kind`.
pub(super) fn steps(kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
    let Some(before) = before else {
        let mut step = generic::created(after);
        let images = deployment::images(&after["spec"]["template"]);
        if !images.is_empty() {
            step.detail = if step.detail.is_empty() { images } else { format!("{}, {images}", step.detail) };
        }
        return vec![step];
    };
    let mut steps = Vec::new();
    let (old, new) = (&before["spec"]["template"], &after["spec"]["template"]);
    if old != new {
        steps.push(Step::new("Rollout", deployment::changed(old, new)));
    }
    steps.extend(deployment::scaled(before, after));
    match kind {
        "Job" => job(before, after, &mut steps),
        "CronJob" => cron_job(before, after, &mut steps),
        "HorizontalPodAutoscaler" => autoscaler(before, after, &mut steps),
        _ => replicas(kind, before, after, &mut steps),
    }
    generic::ending(before, after, &mut steps);
    steps
}

fn replicas(kind: &str, before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (all, ready) = match kind {
        "DaemonSet" => ("desiredNumberScheduled", "numberReady"),
        _ => ("replicas", "readyReplicas"),
    };
    let counts = |object: &Value| [all, ready].map(|field| object["status"][field].as_i64().unwrap_or(0));
    if counts(before) != counts(after) {
        let [all, ready] = counts(after);
        steps.push(Step::new("Progress", format!("{ready} of {all} ready")));
    }
    let update = |object: &Value| object["status"]["updateRevision"].as_str().unwrap_or_default().to_owned();
    if kind == "StatefulSet" && update(before) != update(after) && !update(before).is_empty() {
        steps.push(Step::new("Revision", format!("{} → {}", update(before), update(after))));
    }
}

fn job(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let counts = |object: &Value| ["active", "succeeded", "failed"].map(|field| object["status"][field].as_i64().unwrap_or(0));
    if counts(before) != counts(after) {
        let [active, succeeded, failed] = counts(after);
        let wanted = after["spec"]["completions"].as_i64().unwrap_or(1);
        steps.push(Step::new("Progress", format!("{active} active, {succeeded} of {wanted} succeeded, {failed} failed")));
    }
    for (condition, phase) in [("Complete", "Succeeded"), ("Failed", "Failed"), ("Suspended", "Suspended")] {
        match turned(Some(before), after, condition) {
            Some((_, "True", now)) => steps.push(Step::new(phase, if phase == "Succeeded" { String::new() } else { why(now) })),
            Some(("True", _, _)) if phase == "Suspended" => steps.push(Step::new("Resumed", "")),
            _ => {}
        }
    }
}

fn cron_job(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (&before["status"]["lastScheduleTime"], &after["status"]["lastScheduleTime"]);
    if let Some(time) = new.as_str().filter(|_| old != new) {
        steps.push(Step::new("Fired", format!("for {time}")));
    }
    if before["spec"]["suspend"] != after["spec"]["suspend"] {
        steps.push(Step::new(if after["spec"]["suspend"] == true { "Suspended" } else { "Resumed" }, ""));
    }
    if before["spec"]["schedule"] != after["spec"]["schedule"] {
        let text = |object: &Value| object["spec"]["schedule"].as_str().unwrap_or_default().to_owned();
        steps.push(Step::new("Changed", format!("schedule {} → {}", text(before), text(after))));
    }
}

fn autoscaler(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let desired = |object: &Value| object["status"]["desiredReplicas"].as_i64().unwrap_or(0);
    if desired(before) != desired(after) {
        let phase = if desired(after) > desired(before) { "ScaledUp" } else { "ScaledDown" };
        steps.push(Step::new(phase, format!("{} → {} replicas", desired(before), desired(after))));
    }
    generic::conditions(before, after, steps);
}
