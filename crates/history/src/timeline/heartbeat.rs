//! A node's heartbeat: the lease that its kubelet renews, and the silences between.

use serde_json::Value;

use super::{Phase, StepDetail, StepKind};
use crate::actor::{Actor, ActorFrom};
use crate::clock::Dated;
use ketcd_store::Revision;

/// Seconds for which a node's lease is good where it does not say.
const DURATION: i64 = 40;

/// When a node's lease was renewed.
#[derive(Debug, Default)]
pub(super) struct Beats {
    beats: Vec<(Revision, Dated)>,
    duration: i64,
}

/// Whether an object is the lease of a node.
pub(super) fn is_node_lease(object: &Value) -> bool {
    object["kind"] == "Lease" && object["metadata"]["namespace"] == "kube-node-lease"
}

impl Beats {
    /// Takes a renewal into account.
    pub(super) fn observe(&mut self, revision: Revision, dated: Option<Dated>, lease: &Value) {
        self.duration = lease["spec"]["leaseDurationSeconds"].as_i64().unwrap_or(DURATION);
        self.beats.extend(dated.map(|dated| (revision, dated)));
    }

    /// The silences that outlast the lease: a phase at the last beat before, one at the first after.
    pub(super) fn silences(&self) -> Vec<Phase> {
        let mut phases = Vec::new();
        for pair in self.beats.windows(2) {
            let silence = pair[1].1.time.duration_since(pair[0].1.time);
            if silence.as_secs_f64() <= self.duration as f64 {
                continue;
            }
            let by = Some(Actor { name: "kubelet".to_owned(), on: None, from: ActorFrom::Recorded });
            let phase = |(revision, dated): (Revision, Dated), phase, detail| Phase {
                phase,
                revision,
                dated: Some(dated),
                by: by.clone(),
                detail,
                longest: false,
            };
            phases.push(phase(pair[0], StepKind::LastHeartbeat, StepDetail::LeaseExpired { seconds: self.duration, silence }));
            phases.push(phase(pair[1], StepKind::HeartbeatAgain, StepDetail::None));
        }
        phases
    }
}
