//! A Deployment's steps: each rollout a chapter, with what changed in its template, an undo told as an undo, and how it went.

use serde_json::Value;

use super::{Step, StepKind, condition, generic, why};
use crate::diff::{Detail, fields};

const REVISION: &str = "deployment.kubernetes.io/revision";
/// What stands before the cause in a step.
pub(super) const CAUSE: &str = " (change-cause: ";
/// Fields whose changes other steps tell.
const TOLD: &[&str] = &["spec.template", "spec.replicas", "spec.paused", "metadata.annotations[deployment.kubernetes.io/"];
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The templates that a Deployment has had, to recognise one that comes back.
#[derive(Default)]
pub(super) struct Rollouts {
    /// With the revision number the controller gave each, once it did.
    templates: Vec<(Value, Option<String>)>,
}

impl Rollouts {
    /// Remembers the template of a version whose change cannot be told.
    pub(super) fn remember(&mut self, deployment: &Value) {
        let template = &deployment["spec"]["template"];
        self.templates.retain(|(known, _)| known != template);
        self.templates.push((template.clone(), number(deployment)));
    }

    /// Returns the steps between two neighbouring versions.
    pub(super) fn steps(&mut self, before: Option<&Value>, after: &Value) -> Vec<Step> {
        let mut steps = Vec::new();
        let template = &after["spec"]["template"];
        match before {
            None => {
                self.templates = vec![(template.clone(), None)];
                steps.push(generic::created(after));
                steps.push(Step::new(StepKind::Rollout, format!("{}{}", images(template), cause(after))));
            }
            Some(before) => {
                if before["spec"]["template"] != *template {
                    steps.push(self.rollout(before, after));
                }
                steps.extend(scaled(before, after));
                steps.extend(generic::spec_changed(before, after, TOLD));
                let (old, new) = (&before["spec"]["paused"], &after["spec"]["paused"]);
                if old != new {
                    steps.push(Step::new(if *new == true { StepKind::Paused } else { StepKind::Resumed }, ""));
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
        if !self.templates.iter().any(|(known, _)| known == old) {
            self.templates.push((old.clone(), number(before)));
        }
        let known = self.templates.iter().position(|(known, _)| known == template);
        let known = known.map(|place| self.templates.remove(place));
        self.templates.push((template.clone(), None));
        let told = changed(old, template);
        match known {
            Some((_, number)) => {
                let back = number.map_or_else(|| "an earlier template".to_owned(), |number| format!("revision {number}'s template"));
                Step::new(StepKind::Undo, format!("back to {back}: {told}{}", cause(after)))
            }
            None => Step::new(StepKind::Rollout, format!("{told}{}", cause(after))),
        }
    }

    /// The controller numbers each template once it has a ReplicaSet for it.
    fn number(&mut self, before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
        let now = number(after);
        if now.is_some() && now != before.and_then(number) {
            let revision = now.clone().unwrap_or_default();
            if let Some((_, number)) = self.templates.iter_mut().find(|(template, _)| *template == after["spec"]["template"]) {
                *number = now;
            }
            steps.push(Step::new(StepKind::Revision, format!("this rollout is revision {revision}")));
        }
    }
}

fn number(deployment: &Value) -> Option<String> {
    deployment["metadata"]["annotations"][REVISION].as_str().map(str::to_owned)
}

fn cause(deployment: &Value) -> String {
    deployment["metadata"]["annotations"][CHANGE_CAUSE].as_str().map(|cause| format!("{CAUSE}{cause})")).unwrap_or_default()
}

/// The images of a pod template.
pub(super) fn images(template: &Value) -> String {
    let containers = template["spec"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container["image"].as_str()).collect::<Vec<_>>().join(", ")
}

/// What differs between two pod templates: `containers[main].image tomcat:8 → tomcat:9`.
pub(super) fn changed(old: &Value, new: &Value) -> String {
    let told = fields(old, new, Detail::Leaves).into_iter().map(|change| {
        let path = change.path.to_string();
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "none".to_owned(),
        };
        format!("{} {} → {}", path.strip_prefix("spec.").unwrap_or(&path), text(change.field.before()), text(change.field.after()))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Replicas asked for.
pub(super) fn scaled(before: &Value, after: &Value) -> Option<Step> {
    let (old, new) = (before["spec"]["replicas"].as_i64()?, after["spec"]["replicas"].as_i64()?);
    (old != new).then(|| Step::new(if new > old { StepKind::ScaledUp } else { StepKind::ScaledDown }, format!("{old} → {new} replicas")))
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
    let told = |object: &Value| {
        ["updatedReplicas", "availableReplicas", "unavailableReplicas"].map(|field| object["status"][field].as_i64().unwrap_or(0))
    };
    if told(before) != told(after) && !steps.iter().any(|step| step.phase == StepKind::RolledOut) {
        steps.push(Step::new(StepKind::Progress, counts(after)));
    }
}

pub(super) fn counts(deployment: &Value) -> String {
    let status = |field: &str| deployment["status"][field].as_i64().unwrap_or(0);
    let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    format!("{} of {wanted} up to date, {} available", status("updatedReplicas"), status("availableReplicas"))
}
