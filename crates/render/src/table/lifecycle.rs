//! Evictions and requests for them (alpha in 1.37).
//!
//! Source: Kubernetes 1.37 `pkg/printers/internalversion/printers.go`.

use ketcd_kube::condition;
use serde_json::Value;

use super::fields::{at, int, list, name, text, time};
use super::{Cells, Printer, TableView, human_duration};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("lifecycle.k8s.io", "EvictionRequest") => ("NAME|TARGET|TARGET TYPE|STATUS|REQUESTER|INTENT|AGE", request),
        ("lifecycle.k8s.io", "Eviction") => (
            "NAME|TARGET|TARGET TYPE|STATUS|ACTIVE RESPONDER|RESPONDER STATUS|RESPONDER EXPECTED FINISH|REQUESTERS|AGE|+RESPONDER HEARTBEAT|\
             +RESPONDER STATUS MESSAGE",
            eviction,
        ),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn request(object: &Value, view: TableView) -> Vec<String> {
    let [target, target_type] = target(object);
    let [requester, intent] = ["requester", "intent"].map(|field| text(&object["spec"], field).to_owned());
    vec![name(object), target, target_type, status(object), requester, intent, view.age(object)]
}

fn target(object: &Value) -> [String; 2] {
    match at(object, "spec.target.pod") {
        Some(pod) => [text(pod, "name").to_owned(), "Pod".to_owned()],
        None => ["<unset>".to_owned(), "<unset>".to_owned()],
    }
}

/// The condition that ends it; a target that was evicted counts before a failure.
fn status(object: &Value) -> String {
    let holds = |condition_type: &str| condition(object, condition_type).filter(|own| text(own, "status") == "True");
    match holds("TargetEvicted").or_else(|| holds("Failed")) {
        Some(end) => format!("{} ({})", text(end, "type"), text(end, "reason")),
        None if int(object, "status.observedGeneration") > 0 => "Progressing".to_owned(),
        None => "Pending".to_owned(),
    }
}

fn eviction(object: &Value, view: TableView) -> Vec<String> {
    let [target, target_type] = target(object);
    let responders = list(object, "status.targetResponders");
    let is_ended = |responder: &&Value| matches!(text(responder, "state"), "Canceled" | "Interrupted" | "Completed");
    let is_active = |responder: &&Value| text(responder, "state") == "Active";
    let seen = responders.iter().filter(|responder| is_ended(responder) || is_active(responder)).count();
    let shown = responders.iter().rfind(is_active).or_else(|| responders.iter().rfind(is_ended));
    let active = format!("{} ({seen}/{})", shown.map_or("<unset>", |shown| text(shown, "name")), responders.len());
    let progress = progress(object, shown, view);
    vec![
        name(object),
        target,
        target_type,
        status(object),
        active,
        progress.status,
        progress.finish,
        requesters(object),
        view.age(object),
        progress.heartbeat,
        progress.message,
    ]
}

/// What the responder that is shown says of itself.
struct Progress {
    status: String,
    finish: String,
    heartbeat: String,
    message: String,
}

fn progress(object: &Value, shown: Option<&Value>, view: TableView) -> Progress {
    let unset = || "<unset>".to_owned();
    let mut progress = Progress { status: unset(), finish: "<unknown>".to_owned(), heartbeat: unset(), message: unset() };
    let said = shown.and_then(|shown| list(object, "status.responders").iter().find(|said| text(said, "name") == text(shown, "name")));
    let (Some(shown), Some(said)) = (shown, said) else { return progress };
    let ago = |field: &str| at(said, field).map(|time| format!("{} ago", view.since(Some(time))));
    let state = text(shown, "state");
    progress.status = state.to_owned();
    match (state, ago("startTime"), ago("completionTime")) {
        ("Active", Some(started), _) => {
            progress.status = format!("Started ({started})");
            progress.finish = finish(said, view).unwrap_or(progress.finish);
        }
        ("Completed", _, Some(completed)) => progress.status = format!("{state} ({completed})"),
        _ => {}
    }
    if state != "Active" {
        progress.finish = "-".to_owned();
    }
    progress.heartbeat = ago("heartbeatTime").unwrap_or(progress.heartbeat);
    progress.message = Some(text(said, "message").trim()).filter(|message| !message.is_empty()).map_or(progress.message, str::to_owned);
    progress
}

/// When a responder expects to have finished, from the moment ages are counted to.
fn finish(said: &Value, view: TableView) -> Option<String> {
    let expected = at(said, "expectedCompletionTime")?;
    let left = time(Some(expected)).zip(view.now).map(|(expected, now)| expected.duration_since(now));
    Some(match left.filter(|left| left.is_positive()) {
        Some(left) => format!("in {}", human_duration(left)),
        // The estimate was wrong, or the kubelet is slow.
        None => format!("{} ago", view.since(Some(expected))),
    })
}

/// The first of those who still want it, by name.
fn requesters(object: &Value) -> String {
    let all = list(object, "status.requesters");
    let mut names: Vec<&str> =
        all.iter().filter(|requester| text(requester, "intent") != "Withdrawn").map(|requester| text(requester, "name")).collect();
    names.sort_unstable();
    match (all.len(), names[..].split_first()) {
        (0, _) => "<none>".to_owned(),
        (_, None) => "<withdrawn>".to_owned(),
        (_, Some((first, []))) => (*first).to_owned(),
        (_, Some((first, rest))) => format!("{first} + {} more...", rest.len()),
    }
}
