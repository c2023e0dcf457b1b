//! The words of a step's detail.

use ketcd_history::timeline::{
    ContainerExit, Edit, FieldEdit, ResourceChange, StatusReason, StepDetail, StepKind, TemplateChange, Undo, Utilization,
};
use serde_json::Value;

use super::creation::created;

/// Fields named in one step, before the rest is only counted.
const MAX_FIELDS_NAMED: usize = 4;

/// The detail of a step, beyond its kind; may be empty.
pub fn detail(kind: StepKind, detail: &StepDetail) -> String {
    match detail {
        StepDetail::None => of_kind(kind).to_owned(),
        StepDetail::Reason(reason) => reason.to_string(),
        StepDetail::Message(message) => message.clone(),
        StepDetail::LastMessage(message) => format!("last: {message}"),
        StepDetail::Created { owner, with } => created(owner.as_ref(), with),
        StepDetail::AtOnce => "at once".to_owned(),
        StepDetail::Fields(edits) => first(&edits.iter().map(field).collect::<Vec<_>>()),
        StepDetail::LastWrite(fields) => format!("its last write; it manages {}", first(fields)),
        StepDetail::Replaced { before, after } => format!("{} → {after}", before.as_deref().unwrap_or("none")),
        StepDetail::Condition { kind: condition, status, reason } => turned(kind, condition, status, reason),
        StepDetail::Finalizers(names) if names.is_empty() => String::new(),
        StepDetail::Finalizers(names) if kind == StepKind::Deleting => format!("held by {}", names.join(", ")),
        StepDetail::Gates(names) => format!("held back by {}", names.join(", ")),
        StepDetail::GatesRemoved { removed, left } => gates_removed(removed, left),
        StepDetail::GracePeriod(seconds) => format!("{seconds} s to end"),
        StepDetail::CreatedOn(node) => format!("created on {node}, no scheduler asked"),
        StepDetail::BoundTo(node) => format!("bound to {node}"),
        StepDetail::Target(target) => to(kind, target),
        StepDetail::ContainerImage { container, image } => format!("{container}: {image}"),
        StepDetail::ContainerEnded { container, exit } => format!("{container}: {}", self::exit(exit)),
        StepDetail::ContainerWaits { container, reason } => format!("{container}: {reason}"),
        StepDetail::Restarted { container, count, after } => restarted(container, *count, after.as_ref()),
        StepDetail::Resources { container, changes } => format!("{}: {}", container.as_deref().unwrap_or("the pod"), resources(changes)),
        StepDetail::Kubelet(version) => format!("kubelet {version}"),
        StepDetail::KubeletUpgraded { before, after } => format!("kubelet {before} → {after}"),
        StepDetail::StatusLost { reason, last: Some(last) } => format!("{reason}; last status at {last}"),
        StepDetail::StatusLost { reason, last: None } => reason.to_string(),
        StepDetail::LeaseExpired { seconds, silence } => {
            format!("its lease lasts {seconds} s and was not renewed for {:.0} s", silence.as_secs_f64())
        }
        StepDetail::Taint(taint) => taint.to_string(),
        StepDetail::Allocatable(changes) => resources(changes),
        StepDetail::Rollout { change, cause } => format!("{}{}", template_change(change, None), change_cause(cause.as_deref())),
        StepDetail::Undo { number, change, cause } => {
            let undo = Undo { number: number.clone() };
            format!("{}{}", template_change(change, Some(&undo)), change_cause(cause.as_deref()))
        }
        StepDetail::RevisionNumber(number) => format!("this rollout is revision {number}"),
        StepDetail::Scaled { before, after, usage } => scaled(*before, *after, usage),
        StepDetail::DeploymentReplicas { updated, wanted, available } => {
            format!("{updated} of {wanted} up to date, {available} available")
        }
        StepDetail::ReadyReplicas { ready, wanted } => format!("{ready} of {wanted} ready"),
        StepDetail::UpToDate(ready) => format!("{ready} up to date and ready"),
        StepDetail::JobPods { active, succeeded, completions, failed } => job_pods([*active, *succeeded, *failed], *completions),
        StepDetail::FailedIndexes(indexes) => format!("failed indexes: {indexes}"),
        StepDetail::Time(time) if kind == StepKind::JobSucceeded => format!("at {time}"),
        StepDetail::Time(time) => format!("for {time}"),
        StepDetail::Job(name) => name.clone(),
        StepDetail::Endpoints { names, ready } => format!("{}; {ready} ready", names.join(", ")),
        StepDetail::Finalizers(names) | StepDetail::Containers(names) | StepDetail::Addresses(names) => names.join(", "),
        StepDetail::Provisioner(provisioner) => format!("asked of {provisioner}"),
        StepDetail::Volume(name) => format!("to volume {name}"),
        StepDetail::Claim { namespace, name } => format!("to claim {namespace}/{name}"),
        StepDetail::Released(None) => "its claim is gone".to_owned(),
        StepDetail::Released(Some(policy)) => format!("its claim is gone; reclaim policy {policy}"),
        StepDetail::Devices(devices) => {
            devices.iter().map(|name| format!("{}/{}/{}", name.driver, name.pool, name.device)).collect::<Vec<_>>().join(", ")
        }
        StepDetail::Consumer { resource, name } => format!("{resource} {name}"),
        StepDetail::Victim(object) => format!("{object} makes room"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// What a kind means that needs no more.
fn of_kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::SandboxReady => "network and volumes are there",
        StepKind::Returned => "the kubelet posts its status again",
        StepKind::HeartbeatAgain => "its lease is renewed again",
        StepKind::NoEndpoints => "no ready address is left: nothing answers here",
        StepKind::NodeUnselected => "the pod must be scheduled again",
        StepKind::Lost => "its volume is gone",
        StepKind::Available => "free to be claimed",
        _ => "",
    }
}

fn turned(kind: StepKind, condition: &str, status: &str, reason: &StatusReason) -> String {
    match kind {
        StepKind::Pressure => format!("{condition}: {reason}"),
        StepKind::PressureOver => condition.to_owned(),
        _ if *reason == StatusReason::default() => format!("{condition} {status}"),
        _ => format!("{condition} {status}, {reason}"),
    }
}

fn gates_removed(removed: &[String], left: &[String]) -> String {
    let left = if left.is_empty() { "no gate is left".to_owned() } else { format!("still held back by {}", left.join(", ")) };
    format!("{} removed, {left}", removed.join(", "))
}

fn to(kind: StepKind, target: &str) -> String {
    match kind {
        StepKind::Detached => format!("from {target}"),
        StepKind::Nominated => format!("to {target}"),
        StepKind::NominationCleared => format!("no longer to {target}"),
        StepKind::NodeSelected => format!("the volume is to be made for {target}"),
        _ => format!("to {target}"),
    }
}

/// `Error, exit 1`.
fn exit(exit: &ContainerExit) -> String {
    let reason = exit.reason.as_ref().map(|reason| format!("{reason}, ")).unwrap_or_default();
    let code = exit.code.map_or_else(|| "exit ?".to_owned(), |code| format!("exit {code}"));
    let signal = exit.signal.map(|signal| format!(", signal {signal}")).unwrap_or_default();
    format!("{reason}{code}{signal}")
}

fn restarted(container: &str, count: i64, after: Option<&ContainerExit>) -> String {
    let suffix = match (count % 10, count % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    let after = after.map(|after| format!(" after {}", exit(after))).unwrap_or_default();
    format!("{container} for the {count}{suffix} time{after}")
}

/// `cpu 100m → 300m, memory limit 1Gi → 2Gi`.
fn resources(changes: &[ResourceChange]) -> String {
    let change = |change: &ResourceChange| {
        let limit = if change.limit { " limit" } else { "" };
        let text = |quantity: &Option<String>| quantity.clone().unwrap_or_else(|| "none".to_owned());
        format!("{}{limit} {} → {}", change.resource, text(&change.before), text(&change.after))
    };
    changes.iter().map(change).collect::<Vec<_>>().join(", ")
}

/// What changed in a pod template, and which one came back: `containers[main].image tomcat:8 → tomcat:9`.
pub(crate) fn template_change(change: &TemplateChange, undo: Option<&Undo>) -> String {
    let edits = match change {
        TemplateChange::Images(images) => images.join(", "),
        TemplateChange::Fields(edits) => {
            let edit = edits.iter().map(|edit| format!("{} {} → {}", edit.path, text(edit.before.as_ref()), text(edit.after.as_ref())));
            edit.collect::<Vec<_>>().join(", ")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    match undo {
        None => edits,
        Some(Undo { number: Some(number) }) => format!("back to revision {number}'s template: {edits}"),
        Some(Undo { number: None }) => format!("back to an earlier template: {edits}"),
    }
}

fn change_cause(cause: Option<&str>) -> String {
    cause.map(|cause| format!(" (change-cause: {cause})")).unwrap_or_default()
}

/// A value as it stands in a line.
fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "none".to_owned(),
    }
}

/// `spec.maxReplicas 4 → 6`.
fn field(FieldEdit { path, edit }: &FieldEdit) -> String {
    let quoted = |value: Option<&Value>| if value == Some(&Value::from("")) { "\"\"".to_owned() } else { text(value) };
    match edit {
        Edit::Replaced { before, after } => format!("{path} {} → {}", quoted(before.as_ref()), quoted(after.as_ref())),
        Edit::Reordered => format!("{path} in another order"),
        Edit::Added => format!("{path} added"),
        Edit::Removed => format!("{path} removed"),
        Edit::Changed => path.clone(),
    }
}

/// The first of some fields, and how many more there are.
fn first(fields: &[String]) -> String {
    let shown = fields.len().min(MAX_FIELDS_NAMED);
    let more = fields.len() - shown;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", fields[..shown].join(", "))
}

/// `2 → 4 replicas, cpu at 95% of 70%`.
fn scaled(before: i64, after: i64, usage: &[Utilization]) -> String {
    let usage = usage.iter().map(|usage| {
        let of = usage.target.map(|target| format!(" of {target}%")).unwrap_or_default();
        format!(", {} at {}%{of}", usage.resource, usage.current)
    });
    format!("{before} → {after} replicas{}", usage.collect::<String>())
}

fn job_pods([active, succeeded, failed]: [i64; 3], completions: Option<i64>) -> String {
    let of = completions.map(|completions| format!(" of {completions}")).unwrap_or_default();
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    format!("{active} active, {succeeded}{of} succeeded{failed}")
}
