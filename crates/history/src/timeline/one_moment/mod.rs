//! The steps that a single version of an object shows: by its creation time, its conditions' transitions, its containers' starts and ends,
//! and the times in managedFields.
//!
//! A time shows when something last became as it is, not what was before. What has no time is not a step.

mod collector;
mod managed;
mod pod;
mod timed_step;
mod workload;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Phase, Step, StepDetail, StepKind, condition_detail, items, mark_longest, why};
use crate::clock::Dated;
use collector::StepCollector;
use ketcd_store::Revision;
use managed::StatusField;
use timed_step::{TimedStep, time};

/// Timestamps in objects are whole seconds, cut off.
const TIMESTAMP_PRECISION_SECONDS: f64 = 1.0;

/// Steps in the order in which they follow from each other, where they fall into one second; others come after them.
const STEP_ORDER: &[StepKind] = &[
    StepKind::Created,
    StepKind::Registered,
    StepKind::Gated,
    StepKind::Refused,
    StepKind::Scheduled,
    StepKind::SandboxReady,
    StepKind::InitStarted,
    StepKind::InitFinished,
    StepKind::InitFailed,
    StepKind::SidecarStarted,
    StepKind::Initialized,
    StepKind::ContainersStarted,
    StepKind::Terminated,
    StepKind::Restarted,
    StepKind::Ready,
];

/// The steps that an object shows, in order of time; `revision` is that of the version that shows them.
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
    collector
        .steps
        .sort_by_key(|timed| (timed.at, STEP_ORDER.iter().position(|phase| *phase == timed.step.phase).unwrap_or(STEP_ORDER.len())));
    let phase = |timed: TimedStep| Phase {
        phase: timed.step.phase,
        revision,
        dated: Some(Dated { time: timed.at, error: TIMESTAMP_PRECISION_SECONDS }),
        by: timed.by,
        logged: None,
        is_placed: false,
        detail: timed.step.detail,
        longest: false,
    };
    let mut phases: Vec<Phase> = collector.steps.into_iter().map(phase).collect();
    mark_longest(&mut phases);
    phases
}

/// The time of a Kubernetes Event by itself: when it was last seen.
pub(super) fn dated(time: Option<Timestamp>) -> Option<Dated> {
    time.map(|time| Dated { time, error: TIMESTAMP_PRECISION_SECONDS })
}

fn created(collector: &mut StepCollector<'_>) {
    let object = collector.object;
    let mut steps = super::StepDetector::default().created(object);
    if object["kind"] == "Pod" {
        // Whether a scheduler chose the node is another matter.
        steps.retain(|step| step.phase == StepKind::Created);
    }
    let Some(at) = time(&object["metadata"]["creationTimestamp"]) else { return };
    for step in steps.into_iter().filter(|step| matches!(step.phase, StepKind::Created | StepKind::Registered)) {
        collector.steps.push(TimedStep { step, at, by: managed::creator(object) });
    }
}

/// When deletion was requested: the end of the grace period, less its length.
fn deleting(collector: &mut StepCollector<'_>) {
    let metadata = &collector.object["metadata"];
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let asked = time(&metadata["deletionTimestamp"]).and_then(|end| end.checked_sub(SignedDuration::from_secs(grace)).ok());
    let Some(at) = asked else { return };
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let detail = match collector.object["kind"].as_str() {
        Some("Pod") => StepDetail::GracePeriod(grace),
        _ => StepDetail::Finalizers(finalizers.collect()),
    };
    collector.steps.push(TimedStep { step: Step::new(StepKind::Deleting, detail), at, by: None });
}

fn node(collector: &mut StepCollector<'_>) {
    collector.conditions(|kind, status, condition| match (kind, status) {
        ("Ready", "True") => Some((StepKind::Ready, StepDetail::None)),
        ("Ready", "Unknown") => Some((StepKind::HeartbeatLost, super::node::status_lost(condition))),
        ("Ready", _) => Some((StepKind::NotReady, why(condition).into())),
        (_, "True") => Some((StepKind::Pressure, condition_detail(condition))),
        _ => None,
    });
    for taint in items(Some(collector.object), ["spec", "taints"]) {
        collector.add(StepKind::Tainted, StepDetail::Taint(super::node::taint(taint)), &taint["timeAdded"], StatusField::Elsewhere);
    }
}
