//! Timelines as JSON.

use serde_json::{Value, json};

use super::change::{self, Shown, With, time};
use super::duration;
use crate::history::timeline::{Deletion, Note, Phase, Timeline};
use crate::store::Revision;

/// Returns one timeline as the contract has it; its changes are masked as `shown` says.
pub fn timeline(timeline: &mut Timeline, deletion: Option<&Deletion>, oldest: Revision, shown: Shown) -> Value {
    let changes: Vec<Value> = timeline.changes.iter_mut().map(|told| change::to_value(told, shown, With::PatchOnly)).collect();
    let subject = &timeline.subject;
    json!({
        "object": {"kind": subject.kind, "namespace": subject.namespace, "name": subject.name, "uid": subject.uid},
        "complete": timeline.complete,
        "oldestReadableRevision": oldest.0,
        "phases": phases(&timeline.phases),
        "gaps": timeline.gaps.iter().map(|gap| json!({
            "afterRevision": gap.after.map(|after| after.0),
            "untilRevision": gap.until.0,
            "then": gap.state,
        })).collect::<Vec<_>>(),
        "changes": changes,
        "events": timeline.notes.iter().map(event).collect::<Vec<_>>(),
        "deletion": deletion.map(deleted),
    })
}

/// Phases in order, each with the seconds since the one before.
pub fn phases(phases: &[Phase]) -> Vec<Value> {
    let mut previous = None;
    let told = phases.iter().map(|phase| {
        let since = previous.zip(phase.dated).map(|(previous, now)| duration::seconds_between(previous, now));
        previous = phase.dated.or(previous);
        json!({
            "phase": phase.phase,
            "revision": phase.revision.0,
            "time": phase.dated.map(|dated| time(dated.time)),
            "timeErrorSeconds": phase.dated.map(|dated| dated.error),
            "sincePreviousSeconds": since,
            "by": phase.by.as_ref().map(ToString::to_string),
            "byFrom": phase.by.as_ref().map(|by| by.from.as_str()),
            "detail": phase.detail,
            "longest": phase.longest,
        })
    });
    told.collect()
}

/// A Kubernetes Event.
pub fn event(note: &Note) -> Value {
    json!({
        "time": note.time.map(time),
        "firstTime": note.first.map(time),
        "revision": note.revision.0,
        "reason": note.reason,
        "source": note.source,
        "count": note.count,
        "message": note.message,
        "type": note.kind,
        "object": note.object(),
    })
}

fn deleted(deletion: &Deletion) -> Value {
    json!({
        "askedRevision": deletion.asked.0,
        "askedTime": deletion.asked_at.map(|dated| time(dated.time)),
        "goneRevision": deletion.gone.map(|gone| gone.0),
        "goneTime": deletion.gone_at.map(|dated| time(dated.time)),
        "chain": deletion.chain,
        "evidence": deletion.evidence,
        "finalizers": deletion.finalizers.iter().map(|finalizer| json!({
            "name": finalizer.name,
            "removedRevision": finalizer.removed.map(|removed| removed.0),
            "heldSeconds": deletion.asked_at.zip(finalizer.dated).map(|(asked, removed)| duration::seconds_between(asked, removed)),
        })).collect::<Vec<_>>(),
        "lastManifestRevision": deletion.last_manifest.0,
    })
}
