//! What is wrong with workloads.

use serde_json::Value;

use ketcd_kube::condition;

use super::{Trouble, TroubleKind, holds, text, time};
use crate::clock::newest_stamp;
use crate::timeline::PodsLeft;

/// The troubles of a controller of pods, the gravest first.
pub(super) fn troubles(object: &Value) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let (spec, status) = (&object["spec"], &object["status"]);
    let is_daemon = object["kind"] == "DaemonSet";
    let (ready, wanted) = if is_daemon {
        (status["numberReady"].as_i64().unwrap_or(0), status["desiredNumberScheduled"].as_i64().unwrap_or(0))
    } else {
        (status["readyReplicas"].as_i64().unwrap_or(0), spec["replicas"].as_i64().unwrap_or(1))
    };
    let numbers = Some((ready, wanted));
    if let Some(refused) = holds(object, "ReplicaFailure", "True") {
        troubles.push(Trouble { numbers, ..Trouble::new(TroubleKind::PodsRefused).said_by(refused) });
    }
    let progress = holds(object, "Progressing", "False").filter(|progress| progress["reason"] == "ProgressDeadlineExceeded");
    if let Some(progress) = progress {
        troubles.push(Trouble { numbers, ..Trouble::new(TroubleKind::RolloutStuck).said_by(progress) });
    }
    if ready < wanted {
        let unavailable = holds(object, "Available", "False").and_then(|available| time(&available["lastTransitionTime"]));
        // Whatever it does, it writes down.
        let trouble = Trouble { numbers, counts_from: newest_stamp(object), ..Trouble::new(TroubleKind::Short) };
        troubles.push(trouble.since(unavailable));
    }
    // A rollout whose deadline has passed is said already.
    if troubles.iter().all(|trouble| trouble.kind != TroubleKind::RolloutStuck) {
        troubles.extend(unfinished(object));
    }
    troubles
}

/// A rollout that has not ended: its number, where it has one, and how many pods of before are left.
fn unfinished(object: &Value) -> Option<Trouble> {
    let PodsLeft { updated, wanted, old } = PodsLeft::of(object)?;
    let number = text(&object["metadata"]["annotations"]["deployment.kubernetes.io/revision"]).unwrap_or_default();
    // The controller writes down each progress.
    let progress = condition(object, "Progressing").and_then(|progress| time(&progress["lastUpdateTime"]));
    let trouble = Trouble::new(TroubleKind::RolloutUnfinished).about([number, old.to_string()]);
    Some(Trouble { numbers: Some((updated, wanted)), counts_from: progress.or_else(|| newest_stamp(object)), ..trouble })
}

pub(super) fn job(job: &Value) -> Option<Trouble> {
    let failed = holds(job, "Failed", "True").or_else(|| holds(job, "FailureTarget", "True"))?;
    Some(Trouble::new(TroubleKind::JobFailed).said_by(failed))
}
