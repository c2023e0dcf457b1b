//! Deletion forensics: when an object went, which chain took it, what held it, and where its last manifest is.

use std::sync::Arc;

use serde_json::Value;

use super::{Phase, StepDetail, StepKind, Story, Subject, Timeline, condition, why};
use crate::clock::Dated;
use ketcd_audit::{Authorship, Request};
use ketcd_store::Revision;

/// The condition of a pod that says why it is to go.
pub(super) const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// What held a deleted object, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalizer {
    /// Its name.
    pub name: String,
    /// The revision that removed it; `None` while it still holds.
    pub removed: Option<Revision>,
    /// When.
    pub dated: Option<Dated>,
}

/// How an object came to be deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// The revision in which deletion was requested; for an object without grace and finalizers, the one that deleted it.
    pub asked: Revision,
    /// When it was requested.
    pub asked_at: Option<Dated>,
    /// Whether that revision is only about the one that etcd has.
    pub is_placed: bool,
    /// The revision in which it was gone; `None` while it still is there.
    pub gone: Option<Revision>,
    /// Whether it is gone though no readable version shows when.
    pub vanished: bool,
    /// When it was gone.
    pub gone_at: Option<Dated>,
    /// The chain: `eviction`, `preemption`, `namespace`, `cascade`, `scale down`, `garbage collection`, `TTL`, `direct`; `unknown` where nothing shows it.
    pub chain: &'static str,
    /// The evidence, in words.
    pub evidence: String,
    /// What held it.
    pub finalizers: Vec<Finalizer>,
    /// The revision at which the last manifest can still be read.
    pub last_manifest: Revision,
}

impl Deletion {
    /// Whether a controller of the control plane requested it.
    pub(super) fn by_controller(&self) -> bool {
        matches!(self.chain, "namespace" | "cascade" | "scale down" | "garbage collection")
    }
}

/// Finds out how `of` came to be deleted; `None` where it was not, or where nothing but its last version is known.
pub(super) fn find(story: &Story, of: &Timeline) -> Option<Deletion> {
    if of.one_moment {
        return None;
    }
    let end = of.phases.iter().rev().take_while(|phase| phase.phase != StepKind::Created).collect::<Vec<&Phase>>();
    let gone = end.iter().find(|phase| phase.phase == StepKind::Deleted);
    let asked = end.iter().rev().find(|phase| phase.phase == StepKind::Deleting).or(gone)?;
    let last = of.last.as_ref()?;
    let (chain, evidence) = chain(story, of, last, asked.revision);
    let (chain, evidence) = match &asked.logged {
        Some(logged) => with_request(chain, evidence, &logged.request),
        None => match chain {
            "direct" => (chain, format!("{evidence}; who asked leaves no trace in etcd")),
            "unknown" => (chain, format!("{evidence}; whether somebody or a clean-up removed it leaves no trace in etcd")),
            _ => (chain, evidence),
        },
    };
    let removed = end.iter().rev().filter(|phase| phase.phase == StepKind::FinalizerRemoved);
    let removed = removed.flat_map(|phase| {
        let StepDetail::Finalizers(names) = &phase.detail else { return Vec::new() };
        let finalizer = |name: &String| Finalizer { name: name.clone(), removed: Some(phase.revision), dated: phase.dated };
        names.iter().map(finalizer).collect()
    });
    let held = last["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let held = held.map(|name| Finalizer {
        name: name.to_owned(),
        removed: gone.map(|phase| phase.revision),
        dated: gone.and_then(|phase| phase.dated),
    });
    Some(Deletion {
        asked: asked.revision,
        asked_at: asked.dated,
        is_placed: asked.is_placed,
        gone: gone.map(|phase| phase.revision),
        vanished: of.vanished,
        gone_at: gone.and_then(|phase| phase.dated),
        chain,
        evidence,
        finalizers: removed.chain(held).collect(),
        last_manifest: gone.map_or(of.until.unwrap_or(asked.revision), |phase| phase.revision.before()),
    })
}

/// The chain, best evidence first: what the object itself says, what components reported about it, what happened to those above it.
fn chain(story: &Story, of: &Timeline, last: &Value, asked: Revision) -> (&'static str, String) {
    if let Some(marked) = condition(last, DISRUPTION_TARGET).filter(|marked| marked["status"] == "True") {
        let chain = if marked["reason"] == "PreemptionByScheduler" { "preemption" } else { "eviction" };
        return (chain, format!("its condition DisruptionTarget says {}", why(marked)));
    }
    let note_of = |reasons: &[&str]| of.notes.iter().rev().find(|note| reasons.contains(&note.reason.as_str()));
    if let Some(note) = note_of(&["Preempted"]) {
        return ("preemption", format!("Event Preempted from {}: {}", note.source, note.message));
    }
    if let Some(note) = note_of(&["TaintManagerEviction", "Evicted", "NodeControllerEviction"]) {
        return ("eviction", format!("Event {} from {}: {}", note.reason, note.source, note.message));
    }
    if of.subject.kind == "Event" {
        return ("TTL", "etcd deletes Events when their lease ends".to_owned());
    }
    if let Some(namespace) = story.find("Namespace", "", &of.subject.namespace).and_then(|namespace| deleting(namespace, asked)) {
        return ("namespace", format!("its namespace is being deleted since r{}", namespace.revision));
    }
    if let Some(Subject { kind, namespace, name, .. }) = story.owner_elsewhere(&of.subject) {
        let own = &of.subject.namespace;
        let rule = format!("the garbage collector looks for it in {own}, and deletes what has no owner there");
        return ("garbage collection", format!("its owner {kind} {name} is in namespace {namespace}: {rule}"));
    }
    if let Some(owner) = story.by_uid(&of.owner).filter(|_| !of.owner.is_empty()) {
        if let Some(phase) = deleting(owner, asked) {
            let chain = if phase.phase == StepKind::Deleted { "garbage collection" } else { "cascade" };
            return (chain, format!("its owner {} {} in r{}", owner.subject.kind, owner.subject.name, phase.revision));
        }
        if let Some(note) = story.deleted_by(&owner.subject, &of.subject.name) {
            return ("scale down", format!("Event SuccessfulDelete from {} on {} {}", note.source, owner.subject.kind, owner.subject.name));
        }
        if of.subject.kind == "ReplicaSet" {
            return ("cascade", format!("{} {} keeps no more old ReplicaSets", owner.subject.kind, owner.subject.name));
        }
    }
    if last["status"]["phase"] == "Failed" || last["status"]["phase"] == "Succeeded" {
        return ("unknown", "it had ended".to_owned());
    }
    ("direct", "nothing above it was deleted and no component says it evicted it".to_owned())
}

/// The chain and its evidence, with what the audit log says of who asked. Somebody who is not a component deleted the object directly, whatever else was
/// deleted above it.
fn with_request(chain: &'static str, evidence: String, request: &Authorship) -> (&'static str, String) {
    let named = |requests: &[Arc<Request>]| {
        let mut users: Vec<String> = requests.iter().map(|request| user(request)).collect();
        users.sort();
        users.dedup();
        users
    };
    let (asked, is_known) = match request {
        Authorship::Exact(_) | Authorship::Attributed(_) => (format!("{} asked for it", named(request.requests()).join(" or ")), true),
        Authorship::Candidates(requests) => (format!("one of these asked for it: {}", named(requests).join(", ")), false),
        Authorship::Unexplained(why) if why.is_bypass() => ("no request asked for it: it was deleted directly in etcd".to_owned(), false),
        Authorship::Unexplained(_) => ("no request asked for it, and more likely a part of the log is missing".to_owned(), false),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    let is_component =
        request.request().is_none_or(|request| COMPONENT_USER_PREFIXES.iter().any(|component| request.user.starts_with(component)));
    let chain = match chain {
        "unknown" if is_known => "direct",
        "namespace" | "cascade" | "scale down" | "garbage collection" if is_known && !is_component => "direct",
        chain => chain,
    };
    (chain, format!("{evidence}; by the audit log, {asked}"))
}

/// What the users of the control plane's own components and of nodes begin with (kubernetes staging/src/k8s.io/apiserver pkg/authentication/user/user.go).
const COMPONENT_USER_PREFIXES: [&str; 5] =
    ["system:serviceaccount:kube-system:", "system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "system:node:"];

/// The user of a request, with who impersonated it.
fn user(request: &Request) -> String {
    let by = request.impersonator.as_ref().map(|by| format!(" (impersonated by {by})")).unwrap_or_default();
    format!("{}{by}", request.user)
}

/// The phase in which an object's deletion began, no later than `by`.
fn deleting(timeline: &Timeline, by: Revision) -> Option<&Phase> {
    timeline
        .phases
        .iter()
        .rev()
        .find(|phase| (phase.phase == StepKind::Deleting || phase.phase == StepKind::Deleted) && phase.revision <= by)
}

/// Whether a sentence names an object, as a whole word.
pub(super) fn names(message: &str, name: &str) -> bool {
    message.split(|letter: char| letter.is_whitespace() || letter == ',' || letter == '"').any(|word| word.trim_end_matches('.') == name)
}
