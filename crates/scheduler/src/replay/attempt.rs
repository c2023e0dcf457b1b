//! Scheduling attempts as etcd shows them: a pod is bound, or its condition `PodScheduled=False` is written.

use std::sync::Arc;

use crate::cluster::PodInfo;

use crate::explanation::{Attempt, AttemptOutcome};

/// Returns the attempt that a change of a pod shows, if it shows one. A pod that is created with its node was bound by nobody.
pub(crate) fn attempt(before: Option<&Arc<PodInfo>>, after: &PodInfo, revision: i64) -> Option<Attempt> {
    let before = before.filter(|before| before.node_name.is_none() && before.uid == after.uid)?;
    let decided = after.scheduled.as_ref().and_then(|condition| condition.since);
    let at_once = decided.zip(before.created).is_some_and(|(decided, created)| decided - created <= 1);
    let made = |outcome, recorded_message| {
        Some(Attempt {
            pod: before.clone(),
            outcome,
            node: after.node_name.clone(),
            revision,
            recorded_message,
            at_once,
            event_only: false,
            queued: revision - 1,
            nominated_before: before.nominated_node_name.clone(),
        })
    };
    if after.node_name.is_some() {
        return made(AttemptOutcome::Scheduled, None);
    }
    let condition = after.scheduled.as_ref().filter(|condition| !condition.status && &*condition.reason != "SchedulingGated")?;
    let known = before.scheduled.as_ref() == Some(condition);
    if known { None } else { made(AttemptOutcome::Unschedulable, Some(condition.message.clone())) }
}

/// Returns the attempt still to come for a pod that waits, evaluated as of `revision`.
pub(crate) fn waiting(pod: &Arc<PodInfo>, gated: bool, revision: i64) -> Attempt {
    let condition = pod.scheduled.as_ref().filter(|condition| !condition.status);
    Attempt {
        pod: pod.clone(),
        outcome: if gated { AttemptOutcome::Gated } else { AttemptOutcome::Pending },
        node: None,
        revision,
        recorded_message: condition.map(|condition| condition.message.clone()),
        at_once: false,
        event_only: false,
        queued: revision,
        nominated_before: pod.nominated_node_name.clone(),
    }
}
