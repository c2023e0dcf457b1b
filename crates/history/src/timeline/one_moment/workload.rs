//! The steps of workloads, volumes, autoscalers and of any other kind.

use serde_json::Value;

use super::managed::StatusField;
use super::{StepCollector, StepDetail, StepKind, why};
use crate::timeline::{autoscaler, condition, condition_detail, deployment};

pub(super) fn collect(kind: &str, collector: &mut StepCollector<'_>) {
    match kind {
        "Deployment" => rollout(collector),
        "Job" => job(collector),
        "CronJob" => cron_job(collector),
        "HorizontalPodAutoscaler" => {
            collector.conditions(|kind, status, condition| Some((autoscaler::phase(kind, status)?, why(condition).into())))
        }
        "PersistentVolume" => volume(collector),
        "Event" => {}
        "Namespace" => {
            collector.conditions(|_, status, condition| (status == "True").then(|| (StepKind::Condition, condition_detail(condition))))
        }
        _ => collector.conditions(|_, _, condition| Some((StepKind::Condition, condition_detail(condition)))),
    }
}

/// The controller writes a reason once (k8s.io/kubernetes pkg/controller/deployment/util, SetDeploymentCondition): since then the rollout is as it says.
fn rollout(collector: &mut StepCollector<'_>) {
    let Some(progress) = condition(collector.object, "Progressing") else { return };
    let field = StatusField::Condition("Progressing");
    match progress["reason"].as_str() {
        Some("NewReplicaSetAvailable") => {
            collector.add(StepKind::RolledOut, deployment::counts(collector.object), &progress["lastUpdateTime"], field);
        }
        Some("ProgressDeadlineExceeded") => collector.add(StepKind::Stuck, why(progress), &progress["lastTransitionTime"], field),
        _ => {}
    }
}

fn job(collector: &mut StepCollector<'_>) {
    collector.add(StepKind::Started, StepDetail::None, &collector.object["status"]["startTime"], StatusField::Status("startTime"));
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("FailureTarget", "True") => Some((StepKind::Failing, why(condition).into())),
        ("Complete", "True") => Some((StepKind::Succeeded, StepDetail::None)),
        ("Failed", "True") => Some((StepKind::Failed, why(condition).into())),
        ("Suspended", "True") => Some((StepKind::Suspended, why(condition).into())),
        ("Suspended", "False") => Some((StepKind::Resumed, StepDetail::None)),
        _ => None,
    });
}

fn cron_job(collector: &mut StepCollector<'_>) {
    let status = &collector.object["status"];
    for (field, phase) in [("lastScheduleTime", StepKind::Fired), ("lastSuccessfulTime", StepKind::JobSucceeded)] {
        if let Some(time) = status[field].as_str() {
            collector.add(phase, StepDetail::Time(time.to_owned()), &status[field], StatusField::Status(field));
        }
    }
}

/// Since 1.28 a volume says when its phase turned.
fn volume(collector: &mut StepCollector<'_>) {
    let status = &collector.object["status"];
    let claim = &collector.object["spec"]["claimRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (phase, detail) = match status["phase"].as_str() {
        Some("Bound") => (StepKind::Bound, StepDetail::Target(format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])))),
        Some("Available") => (StepKind::Available, StepDetail::None),
        Some("Released") => (StepKind::Released, StepDetail::Released(None)),
        Some("Failed") => (StepKind::Failed, StepDetail::Message(text(&status["message"]))),
        _ => return,
    };
    collector.add(phase, detail, &status["lastPhaseTransitionTime"], StatusField::Status("lastPhaseTransitionTime"));
}
