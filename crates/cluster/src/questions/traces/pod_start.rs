//! The start of a pod: from its creation until it is ready, and what it waited for.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::SignedDuration;

use ketcd_history::timeline::{Note, Phase, StepDetail, StepKind, Timeline};
use ketcd_history::{Actor, ActorFrom};

use super::ids::SpanId;
use super::lives::TracedLife;
use super::model::{MAX_START_SPANS, Moment, SpanFacts, SpanKind, Traced};
use super::spans::{SpanList, Which};

/// What ends a start: the pod is ready, or never will be.
const START_ENDS: [StepKind; 4] = [StepKind::Ready, StepKind::Succeeded, StepKind::Failed, StepKind::Deleted];

pub(super) struct PodLife<'s> {
    /// The life.
    pub life: &'s TracedLife,
    /// Its phases.
    pub phases: Vec<&'s Phase>,
    /// The timeline of its name.
    pub timeline: &'s Timeline,
}

/// A stretch of another object's timeline that a pod waits for: a claim that is bound, a volume that is attached.
pub(super) struct AwaitedPhase<'s> {
    /// What it is.
    pub kind: SpanKind,
    /// The object.
    pub about: Arc<Traced>,
    /// When it begins.
    pub from: &'s Phase,
    /// When it ends.
    pub to: &'s Phase,
}

impl<'s> PodLife<'s> {
    /// The phase that created it, where that is readable.
    pub(super) fn created(&self) -> Option<&'s Phase> {
        self.phases.iter().copied().find(|phase| phase.phase == StepKind::Created)
    }

    pub(super) fn started(&self) -> Option<&'s Phase> {
        self.phases.iter().copied().find(|phase| START_ENDS.contains(&phase.phase))
    }

    pub(super) fn start_id(&self) -> SpanId {
        SpanId::of(SpanKind::PodStart.name(), &self.life.uid, None, "")
    }

    fn container_of(&self, image: &str) -> Option<String> {
        self.life.containers.iter().find(|(_, known)| known == image).map(|(name, _)| name.clone())
    }

    pub(super) fn image_of(&self, name: &str) -> Option<String> {
        self.life.containers.iter().find(|(known, _)| known == name).map(|(_, image)| image.clone())
    }
}

/// Adds the start of a pod, with its parts; nothing where its creation is not readable. `parent`: the rollout or Job that it is a part of.
pub(super) fn add(pod: &PodLife<'_>, awaited: &[AwaitedPhase<'_>], parent: Option<SpanId>, spans: &mut SpanList) {
    let Some(created) = pod.created() else {
        spans.left_out.without_begin += 1;
        return;
    };
    let end = pod.started();
    let is_within = |phase: &&&Phase| end.is_none_or(|end| phase.revision <= end.revision);
    let within: Vec<&Phase> = pod.phases.iter().filter(is_within).copied().collect();
    let first = spans.made.len();
    scheduling(pod, created, &within, spans);
    containers(pod, &within, spans);
    images(pod, end, spans);
    for AwaitedPhase { kind, about, from, to } in awaited {
        let which = Which { kind: *kind, name: "", parent: Some(pod.start_id()) };
        if let Some(span) = spans.add_about(which, about, Moment::of(from), Moment::of(to), to.by.clone()) {
            span.facts = SpanFacts::Step(to.phase, to.detail.clone());
        }
    }
    let left_out = bound(first, spans);
    if let Some(span) = spans.until(Which { kind: SpanKind::PodStart, name: "", parent }, created, end) {
        span.by.clone_from(&created.by);
        span.is_failed = matches!(span.facts, SpanFacts::Step(StepKind::Failed | StepKind::Deleted, _));
        span.parts_left_out = left_out;
    }
}

/// Keeps the first parts of a start; returns how many are left out.
fn bound(first: usize, spans: &mut SpanList) -> usize {
    let mut parts = spans.made.split_off(first);
    parts.sort_by_key(|part| (part.from.time, part.kind, part.id));
    let left_out = parts.len().saturating_sub(MAX_START_SPANS - 1);
    parts.truncate(MAX_START_SPANS - 1);
    spans.made.extend(parts);
    spans.left_out.above_bounds += left_out;
    left_out
}

/// The gates, the queue, each refusal, the nomination and the binding.
fn scheduling(pod: &PodLife<'_>, created: &Phase, within: &[&Phase], spans: &mut SpanList) {
    let find = |kind: StepKind| within.iter().copied().find(|phase| phase.phase == kind);
    let (gated, ungated, scheduled) = (find(StepKind::Gated), find(StepKind::Ungated), find(StepKind::Scheduled));
    let part = |kind| Which::part(kind, pod.start_id());
    if let Some(gated) = gated {
        spans.until(part(SpanKind::Gated), gated, ungated);
    }
    let is_created_there = scheduled.is_some_and(|scheduled| matches!(scheduled.detail, StepDetail::CreatedOn(_)));
    if let Some(queued) = ungated.or(gated.is_none().then_some(created)).filter(|_| !is_created_there) {
        spans.until(part(SpanKind::Queued), queued, scheduled);
    }
    for refused in within.iter().filter(|phase| phase.phase == StepKind::Refused) {
        spans.moment(part(SpanKind::Attempt), refused).into_iter().for_each(|span| span.is_failed = true);
    }
    for (place, nominated) in within.iter().enumerate().filter(|(_, phase)| phase.phase == StepKind::Nominated) {
        let ends = [StepKind::Scheduled, StepKind::NominationCleared, StepKind::Nominated];
        spans.until(part(SpanKind::Nominated), nominated, within[place + 1..].iter().copied().find(|phase| ends.contains(&phase.phase)));
    }
    if let Some(scheduled) = scheduled {
        spans.moment(part(SpanKind::Bound), scheduled);
    }
}

/// The sandbox, the init containers, the containers, and how long they took to be ready.
fn containers(pod: &PodLife<'_>, within: &[&Phase], spans: &mut SpanList) {
    let find = |kind: StepKind| within.iter().copied().find(|phase| phase.phase == kind);
    let part = |kind| Which::part(kind, pod.start_id());
    let Some(scheduled) = find(StepKind::Scheduled) else { return };
    if let Some(sandbox) = find(StepKind::SandboxReady) {
        spans.between(part(SpanKind::Sandbox), scheduled, sandbox);
    }
    for (place, started) in within.iter().enumerate().filter(|(_, phase)| phase.phase == StepKind::InitStarted) {
        let StepDetail::Containers(names) = &started.detail else { continue };
        for name in names {
            let ends = |phase: &&&Phase| {
                matches!(phase.phase, StepKind::InitFinished | StepKind::InitFailed)
                    && matches!(&phase.detail, StepDetail::ContainerEnded { container, .. } if container == name)
            };
            let ended = within[place + 1..].iter().find(ends).copied();
            let which = Which { name, ..part(SpanKind::InitContainer) };
            if let Some(span) = spans.until(which, started, ended) {
                span.is_failed = matches!(span.facts, SpanFacts::Step(StepKind::InitFailed, _));
                span.image = pod.image_of(name);
                span.container = Some(name.clone());
            }
        }
    }
    let Some(started) = within.iter().copied().rfind(|phase| phase.phase == StepKind::ContainersStarted) else { return };
    spans.between(part(SpanKind::Containers), scheduled, started);
    if let Some(ready) = find(StepKind::Ready) {
        spans.between(part(SpanKind::Readiness), started, ready);
    }
}

/// Kubelets cut the times of Events to seconds, and their clocks may be off.
const END_SLACK: SignedDuration = SignedDuration::from_secs(5);

/// The images that were pulled, as the kubelet's Events say: when it began and was done for the first time, by the kubelet's own clock.
///
/// Kubernetes 1.36, pkg/kubelet/images/image_manager.go: `Pulling image "IMAGE"`, `Successfully pulled image "IMAGE" in …`.
fn images(pod: &PodLife<'_>, end: Option<&Phase>, spans: &mut SpanList) {
    let notes: Vec<&Note> = pod.timeline.notes.iter().filter(|note| note.about.uid == pod.life.uid).collect();
    let mut seen = HashSet::new();
    for pulling in notes.iter().filter(|note| note.reason == "Pulling") {
        // Containers that have an image in common ask for it one after the other.
        let Some(image) = image(pulling).filter(|image| seen.insert(*image)) else { continue };
        // What was pulled for a restart is not a part of the start.
        let is_later = |end: &Phase| pulling.first.zip(end.dated).is_some_and(|(first, end)| first > end.time + END_SLACK);
        if end.is_some_and(is_later) {
            continue;
        }
        let pulled = notes.iter().filter(|note| note.reason == "Pulled" && note.message.starts_with("Successfully pulled"));
        let pulled = pulled.filter(|note| self::image(note) == Some(image)).min_by_key(|note| (note.first, note.revision));
        let Some(pulled) = pulled else {
            spans.left_out.without_end += 1;
            continue;
        };
        let moment = |note: &Note| note.first.map(|time| Moment { time, error: None, revision: note.revision });
        let (name, node) = pulled.source.split_once(' ').unzip();
        let by = Actor { name: name.unwrap_or(&pulled.source).to_owned(), on: node.map(str::to_owned), from: ActorFrom::Recorded };
        let which = Which { name: image, ..Which::part(SpanKind::ImagePull, pod.start_id()) };
        if let Some(span) = spans.add(which, moment(pulling), moment(pulled), Some(by)) {
            span.facts = SpanFacts::Message(pulled.message.clone());
            span.container = pod.container_of(image);
            span.image = Some(image.to_owned());
        }
    }
}

/// The image that an Event names.
fn image(note: &Note) -> Option<&str> {
    note.message.split('"').nth(1)
}
