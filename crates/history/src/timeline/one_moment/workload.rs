//! The steps of workloads, volumes, autoscalers and of any other kind.

use serde_json::Value;

use super::managed::Field;
use super::{StepCollector, why};
use crate::timeline::{autoscaler, condition, deployment};

pub(super) fn collect(kind: &str, collector: &mut StepCollector<'_>) {
    match kind {
        "Deployment" => rollout(collector),
        "Job" => job(collector),
        "CronJob" => cron_job(collector),
        "HorizontalPodAutoscaler" => {
            collector.conditions(|kind, status, condition| Some((autoscaler::phase(kind, status)?, why(condition))))
        }
        "PersistentVolume" => volume(collector),
        "Event" => {}
        "Namespace" => {
            collector.conditions(|kind, status, condition| (status == "True").then(|| ("Condition", turned(kind, status, condition))))
        }
        _ => collector.conditions(|kind, status, condition| Some(("Condition", turned(kind, status, condition)))),
    }
}

fn turned(kind: &str, status: &str, condition: &Value) -> String {
    let why = why(condition);
    if why.is_empty() { format!("{kind} {status}") } else { format!("{kind} {status}, {why}") }
}

/// The controller writes a reason once (k8s.io/kubernetes pkg/controller/deployment/util, SetDeploymentCondition): since then the rollout is as it says.
fn rollout(collector: &mut StepCollector<'_>) {
    let Some(progress) = condition(collector.object, "Progressing") else { return };
    let field = Field::Condition("Progressing");
    match progress["reason"].as_str() {
        Some("NewReplicaSetAvailable") => {
            collector.add("RolledOut", deployment::counts(collector.object), &progress["lastUpdateTime"], field);
        }
        Some("ProgressDeadlineExceeded") => collector.add("Stuck", why(progress), &progress["lastTransitionTime"], field),
        _ => {}
    }
}

fn job(collector: &mut StepCollector<'_>) {
    collector.add("Started", "", &collector.object["status"]["startTime"], Field::Status("startTime"));
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("FailureTarget", "True") => Some(("Failing", why(condition))),
        ("Complete", "True") => Some(("Succeeded", String::new())),
        ("Failed", "True") => Some(("Failed", why(condition))),
        ("Suspended", "True") => Some(("Suspended", why(condition))),
        ("Suspended", "False") => Some(("Resumed", String::new())),
        _ => None,
    });
}

fn cron_job(collector: &mut StepCollector<'_>) {
    let status = &collector.object["status"];
    for (field, phase, word) in [("lastScheduleTime", "Fired", "for"), ("lastSuccessfulTime", "JobSucceeded", "at")] {
        if let Some(time) = status[field].as_str() {
            collector.add(phase, format!("{word} {time}"), &status[field], Field::Status(field));
        }
    }
}

/// Since 1.28 a volume says when its phase turned.
fn volume(collector: &mut StepCollector<'_>) {
    let status = &collector.object["status"];
    let claim = &collector.object["spec"]["claimRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (phase, detail) = match status["phase"].as_str() {
        Some("Bound") => ("Bound", format!("to {}/{}", text(&claim["namespace"]), text(&claim["name"]))),
        Some("Available") => ("Available", "free to be claimed".to_owned()),
        Some("Released") => ("Released", "its claim is gone".to_owned()),
        Some("Failed") => ("Failed", text(&status["message"])),
        _ => return,
    };
    collector.add(phase, detail, &status["lastPhaseTransitionTime"], Field::Status("lastPhaseTransitionTime"));
}
