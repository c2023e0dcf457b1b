//! Rejections recorded only by an Event. The scheduler writes the Event `FailedScheduling` and the pod's condition separately: a pod that is deleted
//! or bound in between never gets the condition, and its last rejection is in the Event alone (`handleSchedulingFailure`,
//! `pkg/scheduler/schedule_one.go`). Nor is a condition written that would be the same as before: of a retry with the same message only the Event
//! tells. The second of equal Events about one version of a pod begins a series, which is written at once; later ones are counted and written half an
//! hour later (`recordToSink`, `tools/events/event_broadcaster.go`), so that when they were made is not known.

use std::collections::HashMap;
use std::sync::Arc;

use super::attempt;
use crate::api::core::Event;
use crate::cluster::{CachedObject, ObjectChange, PodInfo, PodKey, RawObject};
use crate::explanation::{Attempt, AttemptOutcome};

use super::Replay;

const FAILED_REASON: &str = "FailedScheduling";

/// Since 1.20 the message of an Event is cut to 1,024 bytes and then ends in these.
const CUT_SUFFIX: &str = " ...";

/// An Event `FailedScheduling`.
#[derive(Debug)]
struct FailedScheduling {
    key: PodKey,
    uid: String,
    /// The revision of the pod's version that was evaluated.
    seen: i64,
    revision: i64,
    message: Arc<str>,
    count: i64,
    /// Whether later ones are written only when the series is refreshed.
    in_series: bool,
}

impl FailedScheduling {
    /// Reads an Event, if it reports that a pod fits no node.
    fn read(object: RawObject, revision: i64) -> Option<Self> {
        if !object.may_hold(FAILED_REASON.as_bytes()) {
            return None;
        }
        let event: Event = object.typed().ok()?;
        let message = event.message.filter(|message| message.starts_with("0/") || message.starts_with("no nodes available"))?;
        let pod = event.involved_object;
        (event.reason.as_deref() == Some(FAILED_REASON) && pod.kind.as_deref() == Some("Pod")).then_some(())?;
        Some(Self {
            key: (pod.namespace?.into(), pod.name?.into()),
            uid: pod.uid?,
            seen: pod.resource_version?.parse().ok()?,
            revision,
            message: message.into(),
            count: event.series.as_ref().map_or(event.count, |series| series.count).unwrap_or(1),
            in_series: event.series.is_some(),
        })
    }

    /// Whether it tells of a retry after the condition was written, at `written`, and does so at once: of a pod's version that had the condition, or
    /// of one before it, again.
    fn is_repeated_since(&self, written: i64) -> bool {
        let again = self.seen >= written || self.count > 1;
        again && !(self.in_series && self.count > 2)
    }

    fn attempt(self, pod: Arc<PodInfo>) -> Attempt {
        Attempt {
            queued: pod.mod_revision,
            nominated_before: pod.nominated_node_name.clone(),
            pod,
            outcome: AttemptOutcome::Unschedulable,
            node: None,
            revision: self.revision,
            recorded_message: Some(self.message),
            at_once: false,
            event_only: true,
        }
    }
}

/// Reported rejections that may yet be written to their pods.
#[derive(Debug, Default)]
pub(super) struct EventOnly {
    pending: HashMap<PodKey, (FailedScheduling, Arc<PodInfo>)>,
}

impl EventOnly {
    /// Returns the rejection that a change of its pod shows to have remained in the Event only.
    pub(super) fn resolve(&mut self, change: &ObjectChange) -> Option<Attempt> {
        let key = (change.key.namespace.clone(), change.key.name.clone());
        let (failed, _) = self.pending.get(&key)?;
        let waits = match &change.after {
            Some(CachedObject::Pod(pod)) if *pod.uid == *failed.uid && pod.node_name.is_none() => Some(pod),
            _ => None,
        };
        let written = waits.is_some_and(|pod| is_written(&failed.message, pod));
        let another = match (&change.before, waits) {
            (Some(CachedObject::Pod(before)), Some(after)) => attempt::attempt(Some(before), after, 0).is_some(),
            _ => false,
        };
        if waits.is_some() && !written && !another {
            return None;
        }
        let (failed, pod) = self.pending.remove(&key)?;
        (!written).then(|| failed.attempt(pod))
    }
}

impl Attempt {
    /// Whether it refused the pod with the message that its condition had already.
    pub(crate) fn is_repeated(&self) -> bool {
        self.event_only && self.recorded_message.as_deref().is_some_and(|message| is_written(message, &self.pod))
    }
}

impl Replay {
    /// Records an Event; returns the rejection it reports, or an earlier one, that is not and will not be written to its pod.
    pub fn observe_event<'a>(&mut self, event: impl Into<RawObject<'a>>, revision: i64) -> Option<Attempt> {
        let failed = FailedScheduling::read(event.into(), revision)?;
        let of_pod = |change: &ObjectChange| match &change.after {
            Some(CachedObject::Pod(pod)) if *pod.uid == *failed.uid => Some(pod.clone()),
            _ => None,
        };
        let now = self.state.pod(&failed.key.0, &failed.key.1).filter(|pod| *pod.uid == *failed.uid);
        let since = self.journal.partition_point(|(revision, _)| *revision < failed.seen);
        let later = || self.journal.iter().skip(since).filter_map(|(revision, change)| Some((*revision, of_pod(change)?)));
        let evaluated = later().find(|(revision, _)| *revision == failed.seen).map(|(_, pod)| pod);
        let evaluated = evaluated.or_else(|| now.filter(|pod| pod.mod_revision == failed.seen).cloned())?;
        if is_written(&failed.message, &evaluated) || later().any(|(_, pod)| is_written(&failed.message, &pod)) {
            let waits = now.filter(|pod| pod.node_name.is_none() && is_written(&failed.message, pod)).cloned()?;
            return failed.is_repeated_since(waits.mod_revision).then(|| failed.attempt(waits));
        }
        if now.is_none_or(|pod| pod.node_name.is_some()) {
            return Some(failed.attempt(evaluated));
        }
        let earlier = self.event_only.pending.insert(failed.key.clone(), (failed, evaluated.clone()));
        earlier.map(|(failed, pod)| failed.attempt(pod)).filter(|earlier| earlier.pod.mod_revision < evaluated.mod_revision)
    }
}

/// Whether the pod's condition has the message of an Event.
fn is_written(failed: &str, pod: &PodInfo) -> bool {
    pod.scheduled.as_ref().is_some_and(|condition| !condition.status && is_cut_from(failed, &condition.message))
}

/// Whether an Event has this message, possibly truncated.
pub(super) fn is_cut_from(event: &str, message: &str) -> bool {
    event == message || event.len() == 1024 && event.strip_suffix(CUT_SUFFIX).is_some_and(|start| message.starts_with(start))
}
