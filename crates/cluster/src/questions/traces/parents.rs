//! The rollouts and Jobs that starts of pods are parts of.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use ketcd_history::timeline::{RolloutEnd, StepKind, Story, Subject, Timeline};
use ketcd_store::Revision;

use super::ids::{SpanId, TraceId};
use super::lives::{Lives, TracedLife, phases_of};
use super::model::{Moment, SpanFacts, SpanKind, Traced};
use super::spans::{SpanList, Which};

/// A rollout or a Job.
pub(super) struct Parent {
    /// The revision that began it; of a Job any pod is a part.
    pub begun: Revision,
    /// The one that ended it; `None` while it continues.
    pub end: Option<Revision>,
    /// Whether it is a Job.
    pub is_job: bool,
    /// Its trace.
    pub trace: TraceId,
    /// Its span.
    pub span: SpanId,
    /// The object.
    pub about: Arc<Traced>,
    /// Its span, or why there is none, until it is put into its trace.
    pub spans: SpanList,
    /// Whether it has a span.
    pub is_exported: bool,
}

impl Parent {
    /// Whether something that began in a revision is a part of it.
    pub(super) fn covers(&self, revision: Revision) -> bool {
        self.begun <= revision && self.end.is_none_or(|end| revision <= end)
    }
}

/// The rollouts and Jobs of each uid, oldest first.
pub(super) type Parents = HashMap<String, Vec<Parent>>;

/// Where an object stands.
pub(super) fn traced(key: &Bytes, life: &TracedLife, by_uid: &HashMap<&str, (&Bytes, &TracedLife)>) -> Arc<Traced> {
    let subject = life.subject.clone();
    let node = if subject.kind == "Node" { Some(subject.name.clone()) } else { life.node.clone() };
    Arc::new(Traced { key: key.clone(), owners: life.owners(by_uid), node, subject })
}

pub(super) fn find(story: &Story, lives: &Lives, by_uid: &HashMap<&str, (&Bytes, &TracedLife)>) -> Parents {
    let mut parents = Parents::new();
    for (key, timeline) in &story.timelines {
        let lives = lives.of(key);
        let found = match timeline.subject.kind.as_str() {
            "Deployment" | "StatefulSet" | "DaemonSet" => rollouts(key, timeline, lives, by_uid),
            "Job" => jobs(key, timeline, lives, by_uid),
            _ => continue,
        };
        for parent in found {
            parents.entry(parent.about.subject.uid.clone()).or_default().push(parent);
        }
    }
    parents
}

fn rollouts(key: &Bytes, timeline: &Timeline, lives: &[TracedLife], by_uid: &HashMap<&str, (&Bytes, &TracedLife)>) -> Vec<Parent> {
    let mut rollouts = Vec::new();
    for rollout in &timeline.rollouts {
        let begun = rollout.begun;
        let Some(life) = lives.iter().rev().find(|life| life.since <= begun) else { continue };
        let about = traced(key, life, by_uid);
        let mut spans = SpanList::new(&about);
        match rollout.end {
            None => spans.left_out.without_end += 1,
            Some((end, revision, dated)) => {
                let (from, to) = (Moment::at(begun, rollout.dated), Moment::at(revision, dated));
                if let Some(span) = spans.add(Which::root(SpanKind::Rollout), from, to, rollout.by.clone()) {
                    span.is_failed = end != RolloutEnd::RolledOut || rollout.stuck.is_some();
                    span.facts = SpanFacts::Rollout(Box::new(rollout.clone()));
                }
            }
        }
        rollouts.push(Parent {
            begun,
            end: rollout.end.as_ref().map(|(_, end, _)| *end),
            is_job: false,
            trace: TraceId::of("rollout", &life.uid, Some(begun.0)),
            span: SpanId::of(SpanKind::Rollout.name(), &life.uid, Some(begun.0), ""),
            about,
            is_exported: !spans.made.is_empty(),
            spans,
        });
    }
    rollouts
}

fn jobs(key: &Bytes, timeline: &Timeline, lives: &[TracedLife], by_uid: &HashMap<&str, (&Bytes, &TracedLife)>) -> Vec<Parent> {
    let mut jobs = Vec::new();
    for (place, life) in lives.iter().enumerate() {
        let about = traced(key, life, by_uid);
        let phases = phases_of(timeline, life, lives.get(place + 1));
        let find = |kinds: &[StepKind]| phases.iter().copied().find(|phase| kinds.contains(&phase.phase));
        let mut spans = SpanList::new(&about);
        match find(&[StepKind::Created]) {
            None => spans.left_out.without_begin += 1,
            Some(created) => {
                let ended = find(&[StepKind::Succeeded, StepKind::Failed, StepKind::Deleted]);
                if let Some(span) = spans.until(Which::root(SpanKind::Job), created, ended) {
                    span.by.clone_from(&created.by);
                    span.is_failed = !matches!(span.facts, SpanFacts::Step(StepKind::Succeeded, _));
                }
            }
        }
        jobs.push(Parent {
            begun: Revision(0),
            end: None,
            is_job: true,
            trace: TraceId::of("job", &life.uid, None),
            span: SpanId::of(SpanKind::Job.name(), &life.uid, None, ""),
            about,
            is_exported: !spans.made.is_empty(),
            spans,
        });
    }
    jobs
}

/// The rollout or Job of one of its owners that covers a revision of an object, with the owner's uid and its place.
pub(super) fn covering(parents: &Parents, owners: &[Subject], revision: Revision) -> Option<(String, usize)> {
    owners.iter().find_map(|owner| {
        let place = parents.get(&owner.uid)?.iter().rposition(|parent| parent.covers(revision))?;
        Some((owner.uid.clone(), place))
    })
}
