//! Puts the spans of all objects into traces, and links those that follow from others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use ketcd_history::timeline::{Phase, StepKind, Story, Timeline};
use ketcd_store::Revision;

use super::ids::{SpanId, TraceId};
use super::lives::{Lives, TracedLife, phases_of};
use super::model::{Link, LinkReason, MAX_TRACE_STARTS, MissingSpans, Span, SpanFacts, SpanKind, Traced};
use super::node::{self, NodeLoss};
use super::parents::{self, Parents, traced};
use super::pod_later;
use super::pod_start::{self, AwaitedPhase, PodLife};
use super::spans::SpanList;
use super::trace_parent::trace_parent;

/// A trace that is put together.
pub(super) struct Draft {
    /// The object that it is about.
    pub about: Arc<Traced>,
    /// Its spans.
    pub spans: Vec<Span>,
    /// What is missing in it.
    pub left_out: MissingSpans,
    /// The keys of the objects that it is about, and of their owners.
    pub keys: BTreeSet<Bytes>,
    starts: usize,
}

/// The traces that are put together.
pub(super) type Drafts = BTreeMap<TraceId, Draft>;

/// Puts the traces of a story together. `has_all_pods`: the story holds those of all namespaces.
pub(super) fn assemble(story: &Story, lives: &Lives, has_all_pods: bool) -> Drafts {
    let by_uid = lives.by_uid();
    let mut assembly = Assembly {
        story,
        has_all_pods,
        parents: parents::find(story, lives, &by_uid),
        attachments: attachments(story),
        by_uid,
        drafts: Drafts::new(),
        losses: HashMap::new(),
        starts: HashMap::new(),
    };
    assembly.add_nodes(lives);
    assembly.add_parents();
    let pods = assembly.pods(lives);
    for pod in &pods {
        assembly.add_start(pod);
    }
    let preemptors = assembly.preemptors(&pods);
    for pod in &pods {
        assembly.add_later(pod, &preemptors);
    }
    assembly.drafts
}

/// The attachments of each volume.
fn attachments(story: &Story) -> HashMap<&str, Vec<(&Bytes, &Timeline)>> {
    let mut attachments: HashMap<&str, Vec<_>> = HashMap::new();
    for (key, timeline) in story.timelines.iter().filter(|(_, timeline)| timeline.subject.kind == "VolumeAttachment") {
        let volume = timeline.last.as_ref().and_then(|last| last["spec"]["source"]["persistentVolumeName"].as_str());
        if let Some(volume) = volume {
            attachments.entry(volume).or_default().push((key, timeline));
        }
    }
    attachments
}

struct Pod<'s> {
    pod: PodLife<'s>,
    about: Arc<Traced>,
    /// The uid of the owner whose rollout or Job it is a part of, and the place of that.
    parent: Option<(String, usize)>,
    is_last_life: bool,
}

struct Assembly<'s> {
    story: &'s Story,
    has_all_pods: bool,
    parents: Parents,
    attachments: HashMap<&'s str, Vec<(&'s Bytes, &'s Timeline)>>,
    by_uid: HashMap<&'s str, (&'s Bytes, &'s TracedLife)>,
    drafts: Drafts,
    /// Outages and cordons by the names of nodes.
    losses: HashMap<String, Vec<NodeLoss>>,
    /// The starts of pods that have a span, by uid.
    starts: HashMap<&'s str, (TraceId, SpanId)>,
}

impl<'s> Assembly<'s> {
    /// Adds spans to a trace, which is about this object if it is new.
    fn add(&mut self, trace: TraceId, about: &Arc<Traced>, spans: SpanList) -> &mut Draft {
        let mut keys = BTreeSet::new();
        for about in std::iter::once(about).chain(spans.made.iter().map(|span| &span.about)) {
            keys.insert(about.key.clone());
            keys.extend(about.owners.iter().filter_map(|owner| self.by_uid.get(owner.uid.as_str())).map(|(key, _)| (*key).clone()));
        }
        let draft = self.drafts.entry(trace).or_insert_with(|| Draft {
            about: Arc::clone(about),
            spans: Vec::new(),
            left_out: MissingSpans::default(),
            keys: BTreeSet::new(),
            starts: 0,
        });
        draft.spans.extend(spans.made);
        draft.left_out.add(spans.left_out);
        draft.keys.extend(keys);
        draft
    }

    fn add_nodes(&mut self, lives: &Lives) {
        let story = self.story;
        for (key, timeline) in story.timelines.iter().filter(|(_, timeline)| timeline.subject.kind == "Node") {
            let Some(life) = lives.of(key).last() else { continue };
            let about = traced(key, life, &self.by_uid);
            for node in node::spans(story, timeline, &about, self.has_all_pods) {
                self.add(node.trace, &about, node.spans);
                if let Some(loss) = node.loss {
                    self.losses.entry(loss.node.clone()).or_default().push(loss);
                }
            }
        }
    }

    fn add_parents(&mut self) {
        let mut parents = std::mem::take(&mut self.parents);
        for parent in parents.values_mut().flatten() {
            let empty = SpanList::new(&parent.about);
            let mut spans = std::mem::replace(&mut parent.spans, empty);
            self.link_annotation(&parent.about, &mut spans);
            self.add(parent.trace, &parent.about, spans);
        }
        self.parents = parents;
    }

    /// Links the first span to the one that the object's annotation names.
    fn link_annotation(&self, about: &Traced, spans: &mut SpanList) {
        let life = self.by_uid.get(about.subject.uid.as_str()).map(|(_, life)| life);
        let Some(value) = life.and_then(|life| life.annotation.as_deref()) else { return };
        match trace_parent(value) {
            None => spans.left_out.unreadable_parents += 1,
            Some(link) => spans.made.iter_mut().filter(|span| is_whole(span.kind)).for_each(|span| span.links.push(link)),
        }
    }

    /// All lives of pods, in the order of their creations: pods that come later leave those before them where they are.
    fn pods(&self, lives: &'s Lives) -> Vec<Pod<'s>> {
        let mut pods = Vec::new();
        for (key, timeline) in self.story.timelines.iter().filter(|(_, timeline)| timeline.subject.kind == "Pod") {
            let lives = lives.of(key);
            for (place, life) in lives.iter().enumerate() {
                let about = traced(key, life, &self.by_uid);
                let pod = PodLife { life, phases: phases_of(timeline, life, lives.get(place + 1)), timeline };
                let parent = pod.created().and_then(|created| parents::covering(&self.parents, &about.owners, created.revision));
                pods.push(Pod { pod, about, parent, is_last_life: place + 1 == lives.len() });
            }
        }
        pods.sort_by_key(|pod| (pod.pod.created().map_or(pod.pod.life.since, |created| created.revision), pod.about.key.clone()));
        pods
    }

    /// The trace of what happens to a pod by itself.
    fn own_trace(pod: &Pod<'_>) -> TraceId {
        TraceId::of("pod", &pod.pod.life.uid, None)
    }

    fn add_start(&mut self, pod: &Pod<'s>) {
        let parent = pod.parent.as_ref().map(|(uid, place)| &self.parents[uid][*place]);
        let is_part = |parent: &&parents::Parent| self.drafts.get(&parent.trace).is_none_or(|draft| draft.starts < MAX_TRACE_STARTS);
        let within = parent.filter(is_part);
        let mut spans = SpanList::new(&pod.about);
        pod_start::add(&pod.pod, &self.awaited(&pod.pod), within.map(|parent| parent.span), &mut spans);
        if let Some(job) = within.filter(|parent| parent.is_job) {
            pod_later::add_run(&pod.pod, Some(job.span), &mut spans);
        }
        let mut links = Vec::new();
        if let (None, Some(parent)) = (within, parent.filter(|parent| parent.is_exported)) {
            links.push(Link { trace: parent.trace, span: parent.span, reason: LinkReason::Owner });
        }
        let uid = pod.pod.life.uid.as_str();
        let replaced = self.losses.values().flatten().filter(|loss| loss.replacements.iter().any(|replacement| replacement == uid));
        links.extend(replaced.map(|loss| Link { trace: loss.trace, span: loss.span, reason: LinkReason::Replaces }));
        let (trace, about) = match within {
            Some(parent) => (parent.trace, Arc::clone(&parent.about)),
            None => (Self::own_trace(pod), Arc::clone(&pod.about)),
        };
        let is_within = within.is_some();
        self.link_annotation(&pod.about, &mut spans);
        if let Some(start) = spans.made.iter_mut().find(|span| span.kind == SpanKind::PodStart) {
            start.links.extend(links);
            self.starts.insert(uid, (trace, start.id));
        }
        self.add(trace, &about, spans).starts += usize::from(is_within);
    }

    /// The claims that were bound and the volumes that were attached for a pod.
    fn awaited(&self, pod: &PodLife<'s>) -> Vec<AwaitedPhase<'s>> {
        let Some(created) = pod.created() else { return Vec::new() };
        let end = pod.started().map(|end| end.revision);
        let is_within = |phase: &Phase| phase.revision > created.revision && end.is_none_or(|end| phase.revision <= end);
        let mut awaited = Vec::new();
        for claim in &pod.life.claims {
            let Some(claim) = self.story.find("PersistentVolumeClaim", &pod.timeline.subject.namespace, claim) else { continue };
            let find = |kind: StepKind| claim.phases.iter().rfind(|phase| phase.phase == kind);
            let begun = find(StepKind::NodeSelected).or_else(|| find(StepKind::Created));
            if let (Some(from), Some(to)) = (begun, find(StepKind::Bound).filter(|bound| is_within(bound))) {
                awaited.extend(self.about(claim).map(|about| AwaitedPhase { kind: SpanKind::VolumeBind, about, from, to }));
            }
            let volume = claim.last.as_ref().and_then(|last| last["spec"]["volumeName"].as_str()).unwrap_or_default();
            for (_, attachment) in self.attachments.get(volume).into_iter().flatten() {
                let node = attachment.last.as_ref().and_then(|last| last["spec"]["nodeName"].as_str()).map(str::to_owned);
                let find = |kind: StepKind| attachment.phases.iter().rfind(|phase| phase.phase == kind);
                let ends = find(StepKind::Created).zip(find(StepKind::Attached));
                if let Some((from, to)) = ends.filter(|(from, to)| node == pod.life.node && is_within(from) && is_within(to)) {
                    awaited.extend(self.about(attachment).map(|about| AwaitedPhase { kind: SpanKind::VolumeAttach, about, from, to }));
                }
            }
        }
        awaited
    }

    /// Where the last life of a timeline's object stands.
    fn about(&self, timeline: &Timeline) -> Option<Arc<Traced>> {
        let (key, life) = self.by_uid.get(timeline.subject.uid.as_str())?;
        Some(traced(key, life, &self.by_uid))
    }

    /// The starts of the pods that preempted others, by the uids of those.
    fn preemptors(&self, pods: &[Pod<'s>]) -> HashMap<String, (TraceId, SpanId)> {
        let nominated = pods.iter().filter(|pod| pod.pod.phases.iter().any(|phase| phase.phase == StepKind::Nominated));
        let victims = nominated.filter_map(|pod| Some((pod, *self.starts.get(pod.pod.life.uid.as_str())?)));
        victims.flat_map(|(pod, start)| self.story.victims(pod.pod.timeline).into_iter().map(move |note| (note.about.uid, start))).collect()
    }

    fn add_later(&mut self, pod: &Pod<'s>, preemptors: &HashMap<String, (TraceId, SpanId)>) {
        let deletion = if pod.is_last_life { self.story.deletion(pod.pod.timeline) } else { None };
        let chain = deletion.filter(|deletion| deletion.asked >= pod.pod.life.since).map(|deletion| deletion.chain);
        let mut spans = SpanList::new(&pod.about);
        let is_in_job = pod.parent.as_ref().is_some_and(|(uid, place)| {
            let parent = &self.parents[uid][*place];
            parent.is_job && self.starts.get(pod.pod.life.uid.as_str()).is_none_or(|(trace, _)| *trace == parent.trace)
        });
        if !is_in_job {
            pod_later::add_run(&pod.pod, None, &mut spans);
        }
        pod_later::add(&pod.pod, chain, &mut spans);
        let start =
            self.starts.get(pod.pod.life.uid.as_str()).map(|(trace, span)| Link { trace: *trace, span: *span, reason: LinkReason::Start });
        for span in &mut spans.made {
            if span.parent.is_none() {
                span.links.extend(start);
                self.link_causes(pod, span, preemptors);
            }
        }
        if !spans.made.is_empty() || spans.left_out != MissingSpans::default() {
            self.add(Self::own_trace(pod), &pod.about, spans);
        }
    }

    /// Links what happened to a pod to the outage, the rollout or the pod that caused it.
    fn link_causes(&self, pod: &Pod<'_>, span: &mut Span, preemptors: &HashMap<String, (TraceId, SpanId)>) {
        let at = span.from.revision;
        let leaves = matches!(span.kind, SpanKind::Eviction | SpanKind::Deletion);
        if leaves || span.kind == SpanKind::NotReady {
            let losses = pod.about.node.as_ref().and_then(|node| self.losses.get(node)).into_iter().flatten();
            let covering = losses.filter(|loss| loss.from <= at && at <= loss.until);
            span.links.extend(covering.map(|loss| Link { trace: loss.trace, span: loss.span, reason: LinkReason::Node }));
        }
        if !leaves {
            return;
        }
        let is_driven = matches!(span.facts, SpanFacts::Deletion("eviction" | "preemption"));
        if let Some((trace, start)) = preemptors.get(&pod.pod.life.uid) {
            span.links.push(Link { trace: *trace, span: *start, reason: LinkReason::Preemptor });
        }
        if span.kind == SpanKind::Deletion
            && !is_driven
            && let Some(parent) = self.rollout_at(pod, at)
        {
            span.links.push(Link { trace: parent.trace, span: parent.span, reason: LinkReason::Owner });
        }
    }

    /// The rollout of one of its owners that went on when something happened to a pod.
    fn rollout_at(&self, pod: &Pod<'_>, at: Revision) -> Option<&parents::Parent> {
        let (uid, place) = parents::covering(&self.parents, &pod.about.owners, at)?;
        let parent = &self.parents[&uid][place];
        (!parent.is_job && parent.is_exported).then_some(parent)
    }
}

/// Whether a span is of a whole life, rollout or Job, and no part of one.
fn is_whole(kind: SpanKind) -> bool {
    matches!(kind, SpanKind::PodStart | SpanKind::Rollout | SpanKind::Job)
}
