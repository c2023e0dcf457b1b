//! Rollouts as chapters: what changed, which revision it became, and how it ended.

use serde_json::Value;

use super::{StatusReason, Step, StepDetail, StepKind, TemplateChange, condition};
use crate::actor::Actor;
use crate::attributed_change::{AttributedChange, Logged};
use crate::clock::Dated;
use ketcd_store::Revision;

/// How a rollout ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum RolloutEnd {
    /// All replicas are of it and available.
    RolledOut,
    /// The next rollout began before.
    Superseded,
    /// The workload was deleted before.
    Deleted,
}

impl RolloutEnd {
    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RolledOut => "RolledOut",
            Self::Superseded => "Superseded",
            Self::Deleted => "Deleted",
        }
    }
}

/// One rollout of a Deployment, StatefulSet or DaemonSet: from a pod template to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// The revision that set the template.
    pub begun: Revision,
    /// When.
    pub dated: Option<Dated>,
    /// Who set it.
    pub by: Option<Actor>,
    /// What audit logs say of that.
    pub logged: Option<Box<Logged>>,
    /// Whether the revision is only about the one that etcd has.
    pub is_placed: bool,
    /// The number or name that the controller gave it: a Deployment's `deployment.kubernetes.io/revision`, a StatefulSet's `updateRevision`.
    pub number: Option<String>,
    /// The annotation `kubernetes.io/change-cause` that it had last.
    pub cause: Option<String>,
    /// What changed in the template, or its images where it is the first.
    pub change: TemplateChange,
    /// The template that it brought back, if it is an undo.
    pub undo: Option<Undo>,
    /// Why it is stuck, in the controller's words, where its deadline passed.
    pub stuck: Option<StatusReason>,
    /// How and where it ended; `None` while it continues.
    pub end: Option<(RolloutEnd, Revision, Option<Dated>)>,
}

/// An earlier template that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// The revision number that it had, if it had one.
    pub number: Option<String>,
}

/// The chapters of one workload, as they are observed.
#[derive(Debug, Default)]
pub(super) struct Chapters {
    pub(super) rollouts: Vec<Rollout>,
}

impl Chapters {
    /// Takes a change and the steps it shows into account.
    pub(super) fn observe(&mut self, attributed: &AttributedChange, steps: &[Step]) {
        let change = &attributed.change;
        for step in steps {
            match (step.phase, &step.detail) {
                (_, StepDetail::Rollout { change, .. }) => self.begin(attributed, change, None),
                (_, StepDetail::Undo { number, change, .. }) => self.begin(attributed, change, Some(Undo { number: number.clone() })),
                (StepKind::RolledOut, _) => self.end(RolloutEnd::RolledOut, attributed),
                (StepKind::Deleted, _) => self.end(RolloutEnd::Deleted, attributed),
                (StepKind::Stuck, StepDetail::Reason(why)) => {
                    self.open().into_iter().for_each(|rollout| rollout.stuck = Some(why.clone()));
                }
                _ => {}
            }
        }
        if let (Some(rollout), Some(object)) = (self.rollouts.last_mut(), change.after.object()) {
            // The controller numbers a template after it was set; until then the number is the last one's.
            let number = number(object);
            if rollout.number.is_none() && number != change.before.object().and_then(self::number) {
                rollout.number = number;
            }
            rollout.cause = cause(object);
        }
    }

    fn begin(&mut self, attributed: &AttributedChange, change: &TemplateChange, undo: Option<Undo>) {
        self.end(RolloutEnd::Superseded, attributed);
        self.rollouts.push(Rollout {
            begun: attributed.change.revision,
            dated: attributed.dated,
            by: attributed.by(),
            logged: attributed.logged(),
            is_placed: attributed.change.origin.is_placed(),
            number: None,
            cause: None,
            change: change.clone(),
            undo,
            stuck: None,
            end: None,
        });
    }

    fn open(&mut self) -> Option<&mut Rollout> {
        self.rollouts.last_mut().filter(|rollout| rollout.end.is_none())
    }

    fn end(&mut self, end: RolloutEnd, attributed: &AttributedChange) {
        if let Some(rollout) = self.open() {
            rollout.end = Some((end, attributed.change.revision, attributed.dated));
        }
    }
}

/// How far a rollout is that has not ended, according to the workload's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodsLeft {
    /// Pods of the newest template.
    pub updated: i64,
    /// Pods that are wanted.
    pub wanted: i64,
    /// Pods of earlier templates that still exist; 0 where the status does not count them.
    pub old: i64,
}

impl PodsLeft {
    /// Returns how far a workload's rollout is, as `kubectl rollout status` counts (k8s.io/kubectl pkg/polymorphichelpers/rollout_status.go); `None`
    /// where it has ended or is paused, and for kinds and strategies without rollouts. That pods of a finished rollout are not available is another
    /// matter: a Deployment's controller notes the end (pkg/controller/deployment/progress.go), a StatefulSet's and a DaemonSet's pods are not asked for.
    pub fn of(object: &Value) -> Option<Self> {
        let status = |field: &str| object["status"][field].as_i64().unwrap_or(0);
        let replicas = object["spec"]["replicas"].as_i64().unwrap_or(1);
        let has_seen = status("observedGeneration") >= object["metadata"]["generation"].as_i64().unwrap_or(0);
        let strategy = &object["spec"]["updateStrategy"];
        match object["kind"].as_str()? {
            "Deployment" => {
                let progress = condition(object, "Progressing").map(|progress| &progress["reason"]);
                let has_ended = has_seen && progress.is_some_and(|reason| *reason == "NewReplicaSetAvailable");
                let left =
                    Self { updated: status("updatedReplicas"), wanted: replicas, old: status("replicas") - status("updatedReplicas") };
                let goes_on = left.updated < replicas || left.old > 0 || progress.is_some() && status("availableReplicas") < left.updated;
                (goes_on && !has_ended && object["spec"]["paused"] != true).then_some(left)
            }
            "StatefulSet" if strategy["type"] != "OnDelete" => {
                let partition = strategy["rollingUpdate"]["partition"].as_i64().unwrap_or(0);
                let differs = object["status"]["updateRevision"] != object["status"]["currentRevision"];
                let left = Self { updated: status("updatedReplicas"), wanted: (replicas - partition).max(0), old: 0 };
                (differs && left.updated < left.wanted).then_some(left)
            }
            "DaemonSet" if strategy["type"] != "OnDelete" => {
                let left = Self { updated: status("updatedNumberScheduled"), wanted: status("desiredNumberScheduled"), old: 0 };
                (left.updated < left.wanted).then_some(left)
            }
            _ => None,
        }
    }
}

fn number(object: &Value) -> Option<String> {
    let number = match object["kind"].as_str()? {
        "Deployment" => &object["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        _ => &object["status"]["updateRevision"],
    };
    number.as_str().filter(|number| !number.is_empty()).map(str::to_owned)
}

fn cause(object: &Value) -> Option<String> {
    object["metadata"]["annotations"]["kubernetes.io/change-cause"].as_str().map(str::to_owned)
}

/// Whether a StatefulSet's or DaemonSet's rollout is on its way: their status alone does not distinguish a finished rollout from a pod that came back.
#[derive(Debug, Default)]
pub(super) struct Rolling(bool);

impl Rolling {
    /// Adds the step that ends a rollout, once it is complete.
    pub(super) fn follow(&mut self, kind: &str, after: &Value, steps: &mut Vec<Step>) {
        self.0 |= steps.iter().any(|step| step.phase == StepKind::Rollout);
        if self.0 && is_complete(kind, after) {
            self.0 = false;
            let count = if kind == "DaemonSet" { "numberAvailable" } else { "readyReplicas" };
            let ready = after["status"][count].as_i64().unwrap_or(0);
            steps.retain(|step| step.phase != StepKind::Progress);
            steps.push(Step::new(StepKind::RolledOut, StepDetail::UpToDate(ready)));
        }
    }
}

/// Complete as `kubectl rollout status` has it (k8s.io/kubectl pkg/polymorphichelpers/rollout_status.go).
fn is_complete(kind: &str, object: &Value) -> bool {
    let status = |field: &str| object["status"][field].as_i64().unwrap_or(0);
    if status("observedGeneration") < object["metadata"]["generation"].as_i64().unwrap_or(0) {
        return false;
    }
    if kind == "DaemonSet" {
        let wanted = status("desiredNumberScheduled");
        return status("updatedNumberScheduled") >= wanted && status("numberAvailable") >= wanted;
    }
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let partition = object["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_i64().unwrap_or(0);
    let updated = if partition > 0 {
        status("updatedReplicas") >= wanted - partition
    } else {
        object["status"]["updateRevision"] == object["status"]["currentRevision"]
    };
    status("readyReplicas") >= wanted && updated
}
