//! Timelines as JSON.

use serde_json::{Value, json};

use crate::render::change::{self, Shown, With, time};
use crate::render::duration;
use ketcd_history::timeline::{Cordon, Deletion, Fate, Note, Outage, Phase, Rollout, Timeline};
use ketcd_store::Revision;

/// Returns one timeline as the contract has it; its changes are masked as `shown` says.
pub fn timeline(timeline: &mut Timeline, deletion: Option<&Deletion>, oldest: Revision, shown: Shown) -> Value {
    let changes: Vec<Value> = timeline.changes.iter_mut().map(|told| change::to_value(told, shown, With::PatchOnly)).collect();
    let subject = &timeline.subject;
    json!({
        "object": {"kind": subject.kind, "namespace": subject.namespace, "name": subject.name, "uid": subject.uid},
        "complete": timeline.complete,
        "oneMoment": timeline.one_moment,
        "vanished": timeline.vanished,
        "oldestReadableRevision": oldest.0,
        "phases": phases(&timeline.phases),
        "gaps": timeline.gaps.iter().map(|gap| json!({
            "afterRevision": gap.after.map(|after| after.0),
            "untilRevision": gap.until.0,
            "then": gap.state,
        })).collect::<Vec<_>>(),
        "changes": changes,
        "events": timeline.notes.iter().map(event).collect::<Vec<_>>(),
        "rollouts": timeline.rollouts.iter().map(rollout).collect::<Vec<_>>(),
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
            "phase": phase.phase.as_str(),
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
        "vanished": deletion.vanished,
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

fn rollout(rollout: &Rollout) -> Value {
    let end = rollout.end;
    json!({
        "revision": rollout.begun.0,
        "time": rollout.dated.map(|dated| time(dated.time)),
        "timeErrorSeconds": rollout.dated.map(|dated| dated.error),
        "by": rollout.by.as_ref().map(ToString::to_string),
        "byFrom": rollout.by.as_ref().map(|by| by.from.as_str()),
        "number": rollout.number,
        "changeCause": rollout.cause,
        "change": rollout.change,
        "undo": rollout.undo,
        "stuck": rollout.stuck,
        "outcome": end.map(|(end, ..)| end.as_str()),
        "endRevision": end.map(|(_, revision, _)| revision.0),
        "seconds": end.and_then(|(.., dated)| rollout.dated.zip(dated)).map(|(from, to)| duration::seconds_between(from, to)),
    })
}

/// A pod that keeps a workload waiting.
pub fn waiting((timeline, phase): (&Timeline, &Phase)) -> Value {
    let subject = &timeline.subject;
    json!({
        "object": {"kind": subject.kind, "namespace": subject.namespace, "name": subject.name, "uid": subject.uid},
        "phase": phase.phase.as_str(),
        "sinceRevision": phase.revision.0,
        "sinceTime": phase.dated.map(|dated| time(dated.time)),
        "detail": phase.detail,
    })
}

/// A node's outage.
pub fn outage(outage: &Outage) -> Value {
    let seconds = |from: Option<ketcd_history::clock::Dated>, to: Option<ketcd_history::clock::Dated>| {
        from.zip(to).map(|(from, to)| duration::seconds_between(from, to))
    };
    let tainted = outage.tainted.as_ref().and_then(|tainted| tainted.dated);
    json!({
        "fromRevision": outage.from.revision.0,
        "fromTime": outage.from.dated.map(|dated| time(dated.time)),
        "lostRevision": outage.lost.revision.0,
        "lostAfterSeconds": seconds(outage.from.dated, outage.lost.dated),
        "taintedRevision": outage.tainted.as_ref().map(|tainted| tainted.revision.0),
        "evictedAfterTaintSeconds": seconds(tainted, outage.first_evicted),
        "untilRevision": outage.until.as_ref().map(|until| until.revision.0),
        "seconds": seconds(outage.from.dated, outage.until.as_ref().and_then(|until| until.dated)),
        "evicted": outage.evicted.iter().map(fate).collect::<Vec<_>>(),
        "stayed": outage.stayed.iter().map(|(pod, ready)| json!({
            "pod": pod, "readyRevision": ready.as_ref().map(|ready| ready.revision.0),
        })).collect::<Vec<_>>(),
    })
}

/// A node's cordon.
pub fn cordon(cordon: &Cordon) -> Value {
    let until = cordon.until.as_ref();
    json!({
        "fromRevision": cordon.from.revision.0,
        "fromTime": cordon.from.dated.map(|dated| time(dated.time)),
        "by": cordon.from.by.as_ref().map(ToString::to_string),
        "untilRevision": until.map(|until| until.revision.0),
        "seconds": cordon.from.dated.zip(until.and_then(|until| until.dated)).map(|(from, to)| duration::seconds_between(from, to)),
        "left": cordon.left.iter().map(fate).collect::<Vec<_>>(),
    })
}

fn fate((pod, fate): &(String, Fate)) -> Value {
    let (word, replacement) = match fate {
        Fate::Replaced(replacement) => ("Replaced", Some(replacement)),
        Fate::Ended => ("Ended", None),
        Fate::NotReplaced => ("NotReplaced", None),
        Fate::Alone => ("NoController", None),
    };
    json!({"pod": pod, "fate": word, "replacement": replacement.map(|made| json!({"pod": made.pod, "node": made.node}))})
}
