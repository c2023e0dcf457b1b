//! What happens to a pod after its start: runs that end, restarts, times in which it is not ready, resizes, its eviction and its deletion.

use ketcd_history::timeline::{Phase, StepDetail, StepKind};

use super::ids::SpanId;
use super::model::{SpanFacts, SpanKind};
use super::pod_start::PodLife;
use super::spans::{SpanList, Which};

/// Adds the run of a pod that came to an end by itself. `parent`: the Job that it is a part of.
pub(super) fn add_run(pod: &PodLife<'_>, parent: Option<SpanId>, spans: &mut SpanList) {
    let find = |kinds: &[StepKind]| pod.phases.iter().copied().find(|phase| kinds.contains(&phase.phase));
    let Some(ended) = find(&[StepKind::Succeeded, StepKind::Failed]) else { return };
    // Containers of a pod that is deleted are ended by others.
    if find(&[StepKind::Deleting]).is_some_and(|deleting| deleting.revision <= ended.revision) {
        return;
    }
    let started = find(&[StepKind::ContainersStarted]).filter(|started| started.revision <= ended.revision);
    let Some(started) = started else { return };
    let which = Which { parent, ..Which::root(SpanKind::Run) };
    if let Some(span) = spans.between(which, started, ended) {
        span.is_failed = ended.phase == StepKind::Failed;
    }
}

/// Adds the rest. `chain`: how its deletion came about, where that is known.
pub(super) fn add(pod: &PodLife<'_>, chain: Option<&'static str>, spans: &mut SpanList) {
    restarts(pod, spans);
    not_ready(pod, spans);
    resizes(pod, spans);
    ending(pod, chain, spans);
}

/// Each restart, from the end of the container before it, where that is readable.
fn restarts(pod: &PodLife<'_>, spans: &mut SpanList) {
    for (place, restarted) in pod.phases.iter().enumerate() {
        let StepDetail::Restarted { container, .. } = &restarted.detail else { continue };
        let is_restart = |phase: &&&Phase| matches!(&phase.detail, StepDetail::Restarted { container: other, .. } if other == container);
        let is_end = |phase: &&Phase| {
            phase.phase == StepKind::Terminated
                && matches!(&phase.detail, StepDetail::ContainerEnded { container: other, .. } if other == container)
        };
        let ended = pod.phases[..place].iter().rev().take_while(|phase| !is_restart(phase)).copied().find(is_end);
        let which = Which { name: container, ..Which::root(SpanKind::Restart) };
        if let Some(span) = spans.between(which, ended.unwrap_or(restarted), restarted) {
            span.container = Some(container.clone());
            span.image = pod.image_of(container);
            span.is_failed = true;
        }
    }
}

/// Each time in which the pod was not ready any more, until it was again or was gone.
fn not_ready(pod: &PodLife<'_>, spans: &mut SpanList) {
    for (place, lost) in pod.phases.iter().enumerate().filter(|(_, phase)| phase.phase == StepKind::NotReady) {
        let ends = [StepKind::Ready, StepKind::Deleted, StepKind::Succeeded, StepKind::Failed];
        let end = pod.phases[place + 1..].iter().copied().find(|phase| ends.contains(&phase.phase));
        // A pod that succeeds is not ready in the same moment.
        if end.is_some_and(|end| end.revision == lost.revision) {
            continue;
        }
        if let Some(span) = spans.until(Which::root(SpanKind::NotReady), lost, end) {
            span.by.clone_from(&lost.by);
            span.facts = SpanFacts::Step(lost.phase, lost.detail.clone());
            span.is_failed = true;
        }
    }
}

fn resizes(pod: &PodLife<'_>, spans: &mut SpanList) {
    for (place, requested) in pod.phases.iter().enumerate().filter(|(_, phase)| phase.phase == StepKind::ResizeRequested) {
        let name = match &requested.detail {
            StepDetail::Resources { container, .. } => container.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let ends = [StepKind::Resized, StepKind::ResizeInfeasible];
        let end = pod.phases[place + 1..].iter().copied().find(|phase| ends.contains(&phase.phase));
        let which = Which { name: &name, ..Which::root(SpanKind::Resize) };
        if let Some(span) = spans.until(which, requested, end) {
            span.is_failed = matches!(span.facts, SpanFacts::Step(StepKind::ResizeInfeasible, _));
            span.container = Some(name).filter(|name| !name.is_empty());
        }
    }
}

/// The eviction, and the deletion as a part of it.
fn ending(pod: &PodLife<'_>, chain: Option<&'static str>, spans: &mut SpanList) {
    let find = |kind: StepKind| pod.phases.iter().copied().find(|phase| phase.phase == kind);
    let (evicted, deleting, deleted) = (find(StepKind::Evicted), find(StepKind::Deleting), find(StepKind::Deleted));
    let mut eviction = None;
    if let Some(evicted) = evicted {
        let span = spans.until(Which::root(SpanKind::Eviction), evicted, deleted);
        if let Some(span) = span {
            span.by.clone_from(&evicted.by);
            span.facts = SpanFacts::Step(evicted.phase, evicted.detail.clone());
            span.is_failed = true;
        }
        // Where an eviction has no end, the deletion has none either.
        eviction = deleted.and_then(|_| spans.made.last()).filter(|span| span.kind == SpanKind::Eviction).map(|span| span.id);
    }
    let Some(asked) = deleting.or(deleted) else { return };
    if let Some(span) = spans.until(Which { parent: eviction, ..Which::root(SpanKind::Deletion) }, asked, deleted) {
        span.by.clone_from(&asked.by);
        if let Some(chain) = chain {
            span.facts = SpanFacts::Deletion(chain);
        }
    }
}
