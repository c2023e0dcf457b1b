//! A node's heartbeat: the lease that its kubelet renews, and the silences between.

use jiff::Timestamp;
use serde_json::Value;

use super::{Phase, StepDetail, StepKind};
use crate::actor::{Actor, ActorFrom};
use crate::clock::Dated;
use ketcd_store::Revision;

/// Seconds for which a node's lease is good where it does not say.
const DEFAULT_LEASE_SECONDS: i64 = 40;

/// When a node's lease was renewed.
#[derive(Debug, Default)]
pub(super) struct Beats {
    beats: Vec<Beat>,
    duration: i64,
}

#[derive(Clone, Copy, Debug)]
struct Beat {
    revision: Revision,
    dated: Dated,
    /// When it was made, as the lease says.
    renewed: Option<Timestamp>,
}

pub(super) fn is_node_lease(object: &Value) -> bool {
    object["kind"] == "Lease" && object["metadata"]["namespace"] == "kube-node-lease"
}

impl Beats {
    /// Takes a renewal into account.
    pub(super) fn observe(&mut self, revision: Revision, dated: Option<Dated>, lease: &Value) {
        self.duration = lease["spec"]["leaseDurationSeconds"].as_i64().unwrap_or(DEFAULT_LEASE_SECONDS);
        let renewed = lease["spec"]["renewTime"].as_str().and_then(|time| time.parse().ok());
        self.beats.extend(dated.map(|dated| Beat { revision, dated, renewed }));
    }

    /// The silences that outlast the lease: a phase at the last beat before, one at the first after; there is none after one that lasts until `end`.
    pub(super) fn silences(&self, end: Option<Timestamp>) -> Vec<Phase> {
        let mut phases = Vec::new();
        let by = Some(Actor { name: "kubelet".to_owned(), on: None, from: ActorFrom::Recorded });
        let phase = |revision, dated, phase, detail| Phase {
            phase,
            revision,
            dated: Some(dated),
            by: by.clone(),
            logged: None,
            is_placed: false,
            detail,
            longest: false,
        };
        for (place, beat) in self.beats.iter().enumerate() {
            let next = self.beats.get(place + 1);
            let Some(until) = next.map(|next| next.dated.time).or(end) else { continue };
            let silence = until.duration_since(beat.dated.time);
            if silence.as_secs_f64() <= self.duration as f64 {
                continue;
            }
            // Since when it is silent, the lease says.
            let last = Dated { time: beat.renewed.unwrap_or(beat.dated.time), ..beat.dated };
            let expired = StepDetail::LeaseExpired { seconds: self.duration, silence };
            phases.push(phase(beat.revision, last, StepKind::LastHeartbeat, expired));
            phases.extend(next.map(|next| phase(next.revision, next.dated, StepKind::HeartbeatAgain, StepDetail::None)));
        }
        phases
    }
}
