//! What a node's silence or its cordon cost: pods that left, what became of them, and which stayed.

use jiff::Timestamp;

use super::{Phase, Placement, StepDetail, StepKind, Subject, Timeline};
use crate::clock::Dated;
use crate::trouble::silent_since;
use ketcd_store::Revision;

/// A time in which a node's kubelet did not report.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// The last heartbeat: the last renewal of the lease or, if that is not readable, the last posted status.
    pub from: Phase,
    /// When the control plane took the node for lost; the same as `from` where it has not.
    pub lost: Phase,
    /// The taint that evicts.
    pub tainted: Option<Phase>,
    /// The first sign of life after it; `None` while it lasts.
    pub until: Option<Phase>,
    /// The pods that were evicted or deleted meanwhile.
    pub evicted: Vec<(Subject, Fate)>,
    /// When the first of them was.
    pub first_evicted: Option<Dated>,
    /// The pods that stayed bound to the node, each with the step in which it was ready again.
    pub stayed: Vec<(Subject, Option<Phase>)>,
}

/// A time in which a node took no new pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Cordon {
    /// Its begin.
    pub from: Phase,
    /// Its end; `None` while it lasts.
    pub until: Option<Phase>,
    /// The pods that left meanwhile: a drain, if there are any.
    pub left: Vec<(Subject, Fate)>,
}

/// What became of a pod that lost its node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
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
    /// The pod.
    pub pod: Subject,
    /// Where it runs; `None` while it waits.
    pub node: Option<String>,
}

/// Returns the times in which a node's kubelet did not report, given the timelines of its pods and their replacements; none where only one moment is known.
pub(super) fn outages(node: &Timeline, pods: &[&Timeline]) -> Vec<Outage> {
    if node.one_moment {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (lost, from) in losses(node) {
        let until = next(node, &[StepKind::Returned], lost.revision);
        let end = until.map(|until| until.revision);
        let during = |phase: &&Phase| phase.revision > lost.revision && end.is_none_or(|end| phase.revision < end);
        let evicts = |phase: &&Phase| {
            phase.phase == StepKind::Tainted && matches!(&phase.detail, StepDetail::Taint(taint) if taint.effect == "NoExecute")
        };
        let tainted = node.phases.iter().filter(during).find(evicts);
        let left = left(node, pods, lost.revision, end);
        let stayed = pods.iter().filter(|pod| left.iter().all(|(other, _)| !std::ptr::eq(*other, **pod)));
        let stayed = stayed.filter(|pod| {
            is_on(pod, node, lost.revision)
                && pod.phases.iter().any(|phase| {
                    phase.phase == StepKind::NotReady && phase.revision >= lost.revision && end.is_none_or(|end| phase.revision < end)
                })
        });
        found.push(Outage {
            from,
            lost: lost.clone(),
            tainted: tainted.cloned(),
            until: until.cloned(),
            first_evicted: left.iter().min_by_key(|(_, phase)| phase.revision).and_then(|(_, phase)| phase.dated),
            evicted: fates(&left, pods),
            stayed: stayed.map(|pod| (pod.subject.clone(), next(pod, &[StepKind::Ready], lost.revision).cloned())).collect(),
        });
    }
    found
}

/// Each loss of a node with the last heartbeat before it. A silence that lasts and that the control plane has not noticed is one, too.
fn losses(node: &Timeline) -> Vec<(&Phase, Phase)> {
    let beats = |phase: &&Phase| matches!(phase.phase, StepKind::LastHeartbeat | StepKind::HeartbeatAgain);
    let last =
        |before: Option<Revision>| node.phases.iter().rev().filter(beats).find(|phase| before.is_none_or(|end| phase.revision < end));
    let is_quiet = |phase: &&Phase| phase.phase == StepKind::LastHeartbeat;
    let lost = node.phases.iter().filter(|phase| phase.phase == StepKind::HeartbeatLost);
    let mut found: Vec<(&Phase, Phase)> = lost.map(|lost| (lost, begin(lost, last(Some(lost.revision)).filter(is_quiet)))).collect();
    let lasting = last(None).filter(is_quiet).filter(|quiet| found.iter().all(|(_, from)| from.revision != quiet.revision));
    found.extend(lasting.map(|quiet| (quiet, quiet.clone())));
    found
}

/// The begin of a silence, given how it was noticed and the last renewal of the lease, where that is readable.
fn begin(lost: &Phase, beat: Option<&Phase>) -> Phase {
    let time = |phase: &Phase| phase.dated.map(|dated| dated.time);
    let posted = match &lost.detail {
        StepDetail::StatusLost { last: Some(last), .. } => last.parse::<Timestamp>().ok(),
        _ => None,
    };
    let (renewed, noticed) = (beat.and_then(time), time(lost));
    let since = silent_since(renewed, posted, noticed);
    match (beat, since) {
        (Some(beat), Some(_)) if since == renewed => beat.clone(),
        // Conditions carry whole seconds.
        (_, Some(time)) if since != noticed => Phase { dated: Some(Dated { time, error: 1.0 }), ..lost.clone() },
        _ => lost.clone(),
    }
}

/// The times in which a node was cordoned, and the pods that left it then.
pub(super) fn cordons(node: &Timeline, pods: &[&Timeline]) -> Vec<Cordon> {
    let cordoned = node.phases.iter().filter(|phase| phase.phase == StepKind::Cordoned);
    let cordons = cordoned.map(|from| {
        let until = next(node, &[StepKind::Uncordoned], from.revision);
        let left = left(node, pods, from.revision, until.map(|until| until.revision));
        Cordon { from: from.clone(), until: until.cloned(), left: fates(&left, pods) }
    });
    cordons.collect()
}

/// The first phase of these names after a revision.
fn next<'a>(timeline: &'a Timeline, kinds: &[StepKind], after: Revision) -> Option<&'a Phase> {
    timeline.phases.iter().find(|phase| kinds.contains(&phase.phase) && phase.revision > after)
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
        let deletion =
            pod.phases.iter().filter(within).find(|phase| phase.phase == StepKind::Deleting || phase.phase == StepKind::Deleted)?;
        is_on(pod, node, deletion.revision).then_some((*pod, deletion))
    };
    pods.iter().filter_map(begun).collect()
}

/// Finds what became of each pod: new pods of the same controller replace the lost ones in the order in which those went.
fn fates(left: &[(&Timeline, &Phase)], pods: &[&Timeline]) -> Vec<(Subject, Fate)> {
    let mut taken: Vec<&Timeline> = Vec::new();
    let mut in_order = left.to_vec();
    in_order.sort_by_key(|(_, phase)| phase.revision);
    let replacements = in_order.into_iter().map(|(pod, lost)| {
        let free: Vec<&Timeline> = pods.iter().copied().filter(|other| !taken.iter().any(|known| std::ptr::eq(*known, *other))).collect();
        let (fate, by) = fate(pod, &free, lost);
        taken.extend(by);
        (pod.subject.clone(), fate)
    });
    replacements.collect()
}

fn fate<'a>(pod: &'a Timeline, pods: &[&'a Timeline], lost: &Phase) -> (Fate, Option<&'a Timeline>) {
    let before = |phase: &&Phase| {
        phase.revision < lost.revision && matches!(phase.phase, StepKind::Succeeded | StepKind::Failed | StepKind::Created)
    };
    if pod.phases.iter().rev().find(before).is_some_and(|phase| phase.phase != StepKind::Created) {
        return (Fate::Ended, None);
    }
    // A StatefulSet gives the name again; others make pods of other names.
    let again = next(pod, &[StepKind::Created], lost.revision).map(|created| (pod, created.revision));
    let other = || pods.iter().filter_map(|other| Some((*other, replaces(other, pod, lost)?))).min_by_key(|(_, created)| *created);
    match again.or_else(other) {
        Some((made, created)) => {
            let node = made.placements.iter().find(|placement| placement.since >= created).map(|placement| placement.node.clone());
            (Fate::Replaced(Replacement { pod: made.subject.clone(), node }), Some(made))
        }
        None if pod.owner.is_empty() => (Fate::Alone, None),
        None => (Fate::NotReplaced, None),
    }
}

/// A pod counts as the replacement of a lost one if it is created within this many seconds, or revisions if nothing is dated.
const MAX_REPLACEMENT_DELAY: (f64, i64) = (30.0, 200);

/// The revision in which `other` was made in place of `pod`, whose deletion began in `lost`: by the same controller, soon after it.
pub(super) fn replaces(other: &Timeline, pod: &Timeline, lost: &Phase) -> Option<Revision> {
    if pod.owner.is_empty() || other.owner != pod.owner || std::ptr::eq(other, pod) {
        return None;
    }
    let created = other.phases.iter().find(|phase| phase.phase == StepKind::Created && phase.revision > lost.revision)?;
    let soon = match lost.dated.zip(created.dated) {
        Some((lost, created)) => (0.0..=MAX_REPLACEMENT_DELAY.0).contains(&created.time.duration_since(lost.time).as_secs_f64()),
        None => created.revision.0 - lost.revision.0 <= MAX_REPLACEMENT_DELAY.1,
    };
    soon.then_some(created.revision)
}
