//! Makes a timeline of one key's changes, one at a time.

use std::sync::Arc;

use serde_json::Value;

use super::deletion::DISRUPTION_TARGET;
use super::rollout::Chapters;
use super::{Gap, Note, Notes, Phase, Placement, Step, StepDetector, Subject, Timeline, controller, mark_longest, one_moment, state};
use crate::attributed_change::AttributedChange;
use crate::change::{ChangeKind, ObjectVersion};
use ketcd_kube::{FieldSet, Object};
use ketcd_store::Origin;

/// Makes a timeline of one key's changes, one at a time, oldest first.
#[derive(Default)]
pub struct TimelineBuilder {
    timeline: Timeline,
    detector: StepDetector,
    chapters: Chapters,
    begun: bool,
    alive: bool,
}

impl TimelineBuilder {
    /// Adds the next change; `keep` keeps the change itself.
    pub fn observe(&mut self, attributed: AttributedChange, keep: bool) {
        let change = &attributed.change;
        let timeline = &mut self.timeline;
        if let (Origin::Objects, Some(object)) = (change.origin, change.whole()) {
            timeline.one_moment = true;
            timeline.phases = one_moment::phases(object, change.revision);
            timeline.until = Some(change.revision);
            remember(timeline, object, &attributed);
            timeline.changes.extend(keep.then_some(attributed));
            return;
        }
        if !self.begun {
            timeline.complete = change.kind == ChangeKind::Added;
            self.begun = true;
        }
        // A creation while the key was alive: its deletion is missing.
        let reborn = change.kind == ChangeKind::Added && self.alive;
        self.alive = change.kind != ChangeKind::Deleted;
        if change.before == ObjectVersion::Unreadable || reborn {
            timeline.complete = false;
            let state = change.object().map_or_else(|| "deleted".to_owned(), state);
            timeline.gaps.push(Gap { after: timeline.until, until: change.revision, dated: attributed.dated, state });
        }
        let steps = self.detector.steps(change);
        self.chapters.observe(&attributed, &steps);
        for Step { phase, detail } in steps {
            timeline.phases.push(Phase {
                phase,
                revision: change.revision,
                dated: attributed.dated,
                by: attributed.by(),
                logged: attributed.logged(),
                is_placed: change.origin.is_placed(),
                detail,
                longest: false,
            });
        }
        timeline.until = Some(change.revision);
        if let Some(object) = change.whole() {
            remember(timeline, object, &attributed);
        }
        if keep {
            timeline.changes.push(attributed);
        }
    }

    /// Leaves of the last version what is wanted, and of its conditions the one that stories read.
    pub(super) fn reduce(&mut self, fields: &FieldSet) {
        if let Some(last) = &mut self.timeline.last {
            let mut wanted = fields.wanted_of(last);
            if let Some(conditions) = wanted.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                conditions.retain(|condition| condition["type"] == DISRUPTION_TARGET);
            }
            *last = Arc::new(Object::from(wanted));
        }
    }

    /// Ends the timeline. `notes` may hold Events of other objects, which are left out.
    pub fn finish(self, notes: &Notes) -> Timeline {
        self.finish_with(|subject, uids| notes.about(subject, uids))
    }

    /// The same, given what finds the Events about an object, of which all uids are known.
    pub(super) fn finish_with(self, notes_about: impl FnOnce(&Subject, &[String]) -> Vec<Note>) -> Timeline {
        let mut timeline = self.timeline;
        mark_longest(&mut timeline.phases);
        timeline.rollouts = self.chapters.rollouts;
        if let Some(last) = &timeline.last {
            timeline.subject = Subject::of(last);
            timeline.owner = controller(last).and_then(|owner| owner["uid"].as_str()).unwrap_or_default().to_owned();
        }
        timeline.notes = notes_about(&timeline.subject, &timeline.uids);
        timeline
    }
}

/// Keeps what the end of the story needs of a version.
fn remember(timeline: &mut Timeline, object: &Arc<Object>, attributed: &AttributedChange) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    if timeline.uids.last().is_none_or(|last| last != uid) {
        timeline.uids.push(uid.to_owned());
    }
    if let Some(node) = object["spec"]["nodeName"].as_str().filter(|_| object["kind"] == "Pod")
        && timeline.placements.last().is_none_or(|last| last.node != node || last.uid != uid)
    {
        timeline.placements.push(Placement { node: node.to_owned(), uid: uid.to_owned(), since: attributed.change.revision });
    }
    timeline.last = Some(Arc::clone(object));
}
