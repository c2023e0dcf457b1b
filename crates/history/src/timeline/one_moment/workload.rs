//! The steps of workloads, volumes, autoscalers and of any other kind.

use serde_json::Value;

use super::managed::Field;
use super::{StepCollector, StepKind, why};
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
        "Namespace" => collector
            .conditions(|kind, status, condition| (status == "True").then(|| (StepKind::Condition, turned(kind, status, condition)))),
        _ => collector.conditions(|kind, status, condition| Some((StepKind::Condition, turned(kind, status, condition)))),
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
            collector.add(StepKind::RolledOut, deployment::counts(collector.object), &progress["lastUpdateTime"], field);
        }
        Some("ProgressDeadlineExceeded") => collector.add(StepKind::Stuck, why(progress), &progress["lastTransitionTime"], field),
        _ => {}
    }
}

fn job(collector: &mut StepCollector<'_>) {
    collector.add(StepKind::Started, "", &collector.object["status"]["startTime"], Field::Status("startTime"));
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("FailureTarget", "True") => Some((StepKind::Failing, why(condition))),
        ("Complete", "True") => Some((StepKind::Succeeded, String::new())),
        ("Failed", "True") => Some((StepKind::Failed, why(condition))),
        ("Suspended", "True") => Some((StepKind::Suspended, why(condition))),
        ("Suspended", "False") => Some((StepKind::Resumed, String::new())),
        _ => None,
    });
}

fn cron_job(collector: &mut StepCollector<'_>) {
    let status = &collector.object["status"];
    for (field, phase, word) in [("lastScheduleTime", StepKind::Fired, "for"), ("lastSuccessfulTime", StepKind::JobSucceeded, "at")] {
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
        Some("Bound") => (StepKind::Bound, format!("to {}/{}", text(&claim["namespace"]), text(&claim["name"]))),
        Some("Available") => (StepKind::Available, "free to be claimed".to_owned()),
        Some("Released") => (StepKind::Released, "its claim is gone".to_owned()),
        Some("Failed") => (StepKind::Failed, text(&status["message"])),
        _ => return,
    };
    collector.add(phase, detail, &status["lastPhaseTransitionTime"], Field::Status("lastPhaseTransitionTime"));
}
