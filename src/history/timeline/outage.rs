//! What a node's silence or its cordon cost: pods that left, what became of them, and which stayed.

use super::{Phase, Placement, Timeline};
use crate::history::clock::Dated;
use crate::store::Revision;

/// A time in which a node's kubelet was not heard of.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// The last heartbeat, or where leases are not readable the loss of it.
    pub from: Phase,
    /// When the control plane took the node for lost.
    pub lost: Phase,
    /// The taint that evicts.
    pub tainted: Option<Phase>,
    /// The first sign of life after it; `None` while it lasts.
    pub until: Option<Phase>,
    /// The pods that were evicted or deleted meanwhile, by name.
    pub evicted: Vec<(String, Fate)>,
    /// When the first of them was.
    pub first_evicted: Option<Dated>,
    /// The pods that stayed bound to the node, each with the step in which it was ready again.
    pub stayed: Vec<(String, Option<Phase>)>,
}

/// A time in which a node took no new pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Cordon {
    /// Its begin.
    pub from: Phase,
    /// Its end; `None` while it lasts.
    pub until: Option<Phase>,
    /// The pods that left meanwhile: a drain, if there are any.
    pub left: Vec<(String, Fate)>,
}

/// What became of a pod that lost its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its controller made another.
    Replaced(Replacement),
    /// It had ended before.
    Ended,
    /// It has a controller, which made no other within the readable history.
    NotReplaced,
    /// Nobody would make another: it has no controller.
    Alone,
}

/// A pod made in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Its name.
    pub pod: String,
    /// Where it runs; `None` while it waits.
    pub node: Option<String>,
}

/// The times in which a node was not heard of, given the timelines of its pods and their replacements.
pub(super) fn outages(node: &Timeline, pods: &[&Timeline]) -> Vec<Outage> {
    let mut found = Vec::new();
    for lost in node.phases.iter().filter(|phase| phase.phase == "HeartbeatLost") {
        let quiet = node.phases.iter().rev().find(|phase| phase.phase == "LastHeartbeat" && phase.revision < lost.revision);
        let until = next(node, &["Returned"], lost.revision);
        let end = until.map(|until| until.revision);
        let during = |phase: &&Phase| phase.revision > lost.revision && end.is_none_or(|end| phase.revision < end);
        let tainted = node.phases.iter().filter(during).find(|phase| phase.phase == "Tainted" && phase.detail.ends_with(":NoExecute"));
        let left = left(node, pods, lost.revision, end);
        let stayed = pods.iter().filter(|pod| left.iter().all(|(other, _)| !std::ptr::eq(*other, **pod)));
        let stayed = stayed.filter(|pod| {
            is_on(pod, node, lost.revision)
                && pod
                    .phases
                    .iter()
                    .any(|phase| phase.phase == "NotReady" && phase.revision >= lost.revision && end.is_none_or(|end| phase.revision < end))
        });
        found.push(Outage {
            from: quiet.unwrap_or(lost).clone(),
            lost: lost.clone(),
            tainted: tainted.cloned(),
            until: until.cloned(),
            first_evicted: left.iter().min_by_key(|(_, phase)| phase.revision).and_then(|(_, phase)| phase.dated),
            evicted: left.iter().map(|(pod, phase)| (pod.subject.name.clone(), fate(pod, pods, phase.revision))).collect(),
            stayed: stayed.map(|pod| (pod.subject.name.clone(), next(pod, &["Ready"], lost.revision).cloned())).collect(),
        });
    }
    found
}

/// The times in which a node was cordoned, and the pods that left it then.
pub(super) fn cordons(node: &Timeline, pods: &[&Timeline]) -> Vec<Cordon> {
    let cordoned = node.phases.iter().filter(|phase| phase.phase == "Cordoned");
    let told = cordoned.map(|from| {
        let until = next(node, &["Uncordoned"], from.revision);
        let left = left(node, pods, from.revision, until.map(|until| until.revision));
        Cordon {
            from: from.clone(),
            until: until.cloned(),
            left: left.iter().map(|(pod, phase)| (pod.subject.name.clone(), fate(pod, pods, phase.revision))).collect(),
        }
    });
    told.collect()
}

/// The first phase of these names after a revision.
fn next<'a>(timeline: &'a Timeline, names: &[&str], after: Revision) -> Option<&'a Phase> {
    timeline.phases.iter().find(|phase| names.contains(&phase.phase) && phase.revision > after)
}

/// Where a pod was at a revision.
fn place(pod: &Timeline, at: Revision) -> Option<&Placement> {
    pod.placements.iter().rev().find(|placement| placement.since <= at)
}

fn is_on(pod: &Timeline, node: &Timeline, at: Revision) -> bool {
    place(pod, at).is_some_and(|placement| placement.node == node.subject.name)
}

/// The pods that were on a node and whose deletion began between two revisions, each with the step in which it did.
fn left<'a>(node: &Timeline, pods: &[&'a Timeline], from: Revision, until: Option<Revision>) -> Vec<(&'a Timeline, &'a Phase)> {
    let begun = |pod: &&'a Timeline| {
        let within = |phase: &&Phase| phase.revision > from && until.is_none_or(|until| phase.revision < until);
        let deletion = pod.phases.iter().filter(within).find(|phase| phase.phase == "Deleting" || phase.phase == "Deleted")?;
        is_on(pod, node, deletion.revision).then_some((*pod, deletion))
    };
    pods.iter().filter_map(begun).collect()
}

fn fate(pod: &Timeline, pods: &[&Timeline], lost: Revision) -> Fate {
    let ended = pod.phases.iter().rev().find(|phase| phase.revision < lost && matches!(phase.phase, "Succeeded" | "Failed" | "Created"));
    if ended.is_some_and(|phase| phase.phase != "Created") {
        return Fate::Ended;
    }
    // A StatefulSet gives the name again; others make pods of other names.
    let again = next(pod, &["Created"], lost).map(|created| (pod, created.revision));
    let made = again.or_else(|| pods.iter().find_map(|other| Some((*other, replaces(other, pod, lost)?))));
    match made {
        Some((other, created)) => Fate::Replaced(Replacement {
            pod: other.subject.name.clone(),
            node: other.placements.iter().find(|placement| placement.since >= created).map(|placement| placement.node.clone()),
        }),
        None if pod.owner.is_empty() => Fate::Alone,
        None => Fate::NotReplaced,
    }
}

/// A controller makes up for a lost pod within this many revisions; later pods have other reasons.
const NEXT: i64 = 50;

/// The revision in which `other` was made in place of `pod`, whose deletion began in `lost`: by the same controller, next after it.
pub(super) fn replaces(other: &Timeline, pod: &Timeline, lost: Revision) -> Option<Revision> {
    let created = other.phases.iter().find(|phase| phase.phase == "Created")?.revision;
    let soon = created > lost && created.0 - lost.0 <= NEXT;
    (soon && !pod.owner.is_empty() && other.owner == pod.owner && !std::ptr::eq(other, pod)).then_some(created)
}
