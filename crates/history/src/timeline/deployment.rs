//! A Deployment's steps: each rollout a chapter, with what changed in its template, an undo shown as an undo, and how it went.

use serde_json::Value;

use super::{Step, StepDetail, StepKind, TemplateChange, TemplateEdit, condition, generic, why};
use crate::diff::{Detail, fields};

const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";
/// Fields whose changes other steps show.
const COVERED_FIELDS: &[&str] = &["spec.template", "spec.replicas", "spec.paused", "metadata.annotations[deployment.kubernetes.io/"];
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The templates that a Deployment has had, to recognise one that comes back.
#[derive(Default)]
pub(super) struct Rollouts {
    /// With the revision number the controller gave each, once it did.
    /// Their JSON, which is an eighth of the heap that their values take.
    templates: Vec<(Box<str>, Option<String>)>,
}

impl Rollouts {
    /// Remembers the template of a version whose change is unknown.
    pub(super) fn remember(&mut self, deployment: &Value) {
        let template = template_of(deployment);
        self.templates.retain(|(known, _)| *known != template);
        self.templates.push((template, number(deployment)));
    }

    /// Returns the steps between two neighbouring versions.
    pub(super) fn steps(&mut self, before: Option<&Value>, after: &Value) -> Vec<Step> {
        let mut steps = Vec::new();
        let template = &after["spec"]["template"];
        match before {
            None => {
                self.templates = vec![(template_of(after), None)];
                steps.push(generic::created(after));
                steps.push(Step::new(
                    StepKind::Rollout,
                    StepDetail::Rollout { change: TemplateChange::Images(images(template)), cause: cause(after) },
                ));
            }
            Some(before) => {
                if before["spec"]["template"] != *template {
                    steps.push(self.rollout(before, after));
                }
                steps.extend(scaled(before, after));
                steps.extend(generic::spec_changed(before, after, COVERED_FIELDS));
                let (old, new) = (&before["spec"]["paused"], &after["spec"]["paused"]);
                if old != new {
                    steps.push(Step::new(if *new == true { StepKind::Paused } else { StepKind::Resumed }, StepDetail::None));
                }
            }
        }
        self.number(before, after, &mut steps);
        if let Some(before) = before {
            progress(before, after, &mut steps);
            generic::ending(before, after, &mut steps);
        }
        steps
    }

    fn rollout(&mut self, before: &Value, after: &Value) -> Step {
        let template = &after["spec"]["template"];
        let old = &before["spec"]["template"];
        let (old_text, text) = (template_of(before), template_of(after));
        if !self.templates.iter().any(|(known, _)| *known == old_text) {
            self.templates.push((old_text, number(before)));
        }
        let known = self.templates.iter().position(|(known, _)| *known == text);
        let known = known.map(|place| self.templates.remove(place));
        self.templates.push((text, None));
        let (change, cause) = (changed(old, template), cause(after));
        match known {
            Some((_, number)) => Step::new(StepKind::Undo, StepDetail::Undo { number, change, cause }),
            None => Step::new(StepKind::Rollout, StepDetail::Rollout { change, cause }),
        }
    }

    /// The controller numbers each template once it has a ReplicaSet for it.
    fn number(&mut self, before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
        let now = number(after);
        if now.is_some() && now != before.and_then(number) {
            let revision = now.clone().unwrap_or_default();
            let current = template_of(after);
            if let Some((_, number)) = self.templates.iter_mut().find(|(template, _)| *template == current) {
                *number = now;
            }
            steps.push(Step::new(StepKind::Revision, StepDetail::RevisionNumber(revision)));
        }
    }
}

fn number(deployment: &Value) -> Option<String> {
    deployment["metadata"]["annotations"][REVISION_ANNOTATION].as_str().map(str::to_owned)
}

fn cause(deployment: &Value) -> Option<String> {
    deployment["metadata"]["annotations"][CHANGE_CAUSE].as_str().map(str::to_owned)
}

pub(super) fn images(template: &Value) -> Vec<String> {
    let containers = template["spec"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container["image"].as_str()).map(str::to_owned).collect()
}

/// The JSON of a Deployment's pod template.
fn template_of(deployment: &Value) -> Box<str> {
    deployment["spec"]["template"].to_string().into()
}

/// What differs between two pod templates.
pub(super) fn changed(old: &Value, new: &Value) -> TemplateChange {
    let edits = fields(old, new, Detail::Leaves).into_iter().map(|change| {
        let path = change.path.to_string();
        TemplateEdit {
            path: path.strip_prefix("spec.").unwrap_or(&path).to_owned(),
            before: change.field.before().cloned(),
            after: change.field.after().cloned(),
        }
    });
    TemplateChange::Fields(edits.collect())
}

/// Replicas asked for.
pub(super) fn scaled(before: &Value, after: &Value) -> Option<Step> {
    let (old, new) = (before["spec"]["replicas"].as_i64()?, after["spec"]["replicas"].as_i64()?);
    let kind = if new > old { StepKind::ScaledUp } else { StepKind::ScaledDown };
    (old != new).then(|| Step::new(kind, StepDetail::Scaled { before: old, after: new, usage: Vec::new() }))
}

fn progress(before: &Value, after: &Value, steps: &mut Vec<Step>) {
    let reason = |object| condition(object, "Progressing").and_then(|progress| progress["reason"].as_str());
    if reason(before) != reason(after) {
        let detail = condition(after, "Progressing").map(why).unwrap_or_default();
        match reason(after) {
            Some("NewReplicaSetAvailable") => steps.push(Step::new(StepKind::RolledOut, counts(after))),
            Some("ProgressDeadlineExceeded") => steps.push(Step::new(StepKind::Stuck, detail)),
            _ => {}
        }
    }
    let condition = |object: &Value| {
        ["updatedReplicas", "availableReplicas", "unavailableReplicas"].map(|field| object["status"][field].as_i64().unwrap_or(0))
    };
    if condition(before) != condition(after) && !steps.iter().any(|step| step.phase == StepKind::RolledOut) {
        steps.push(Step::new(StepKind::Progress, counts(after)));
    }
}

pub(super) fn counts(deployment: &Value) -> StepDetail {
    let status = |field: &str| deployment["status"][field].as_i64().unwrap_or(0);
    let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    StepDetail::DeploymentReplicas { updated: status("updatedReplicas"), wanted, available: status("availableReplicas") }
}
