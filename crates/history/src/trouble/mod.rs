//! What is wrong with objects: what each says of itself at one moment, how long it may last before it counts, and how much it weighs.
//!
//! [`troubles_of`] reads one object. [`triage`] puts the troubles of a whole cluster in order and chains effects to their causes;
//! [`Episodes`] follows objects through their history. Both weigh by [`TroubleKind::weight`]. Nothing here has words for people.

mod cluster;
mod device;
mod episodes;
mod kind;
mod likeness;
mod node;
mod object_troubles;
mod pod;
mod refusals;
mod storage;
pub mod triage;
mod workload;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_kube::condition;

pub use crate::lease_facts::LeaseFacts;
pub use cluster::{BrokenHook, broken_hooks, services_called, waits_for_pod};
pub use device::driver_awaited;
pub use episodes::{Episode, Episodes};
pub use kind::TroubleKind;
pub use likeness::Likeness;
pub use node::{lease_trouble, silent_since};
pub use object_troubles::troubles_of;
pub use refusals::Refusals;
pub use storage::{data_troubles, storage_troubles};

/// Something that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub kind: TroubleKind,
    /// Since when, according to the object; `None` if it does not say. For a silent node: its last heartbeat.
    pub since: Option<Timestamp>,
    /// Whether it may have begun before `since`: the versions that would show it cannot be read.
    pub may_begin_earlier: bool,
    /// The start of the time that it may last before it counts, if that is not `since`. For a silent node: when the silence was noticed.
    pub counts_from: Option<Timestamp>,
    /// Kubernetes' word for the reason.
    pub reason: Option<String>,
    /// What Kubernetes says about it.
    pub message: Option<String>,
    /// The part of the object it is about: a container, finalizers, a resource of a quota, a service.
    pub about: Vec<String>,
    /// How many there are and how many there should be, or restarts and exit code: what the kind says.
    pub numbers: Option<(i64, i64)>,
}

impl Trouble {
    /// A trouble with nothing known but its kind.
    pub fn new(kind: TroubleKind) -> Self {
        Self {
            kind,
            since: None,
            may_begin_earlier: false,
            counts_from: None,
            reason: None,
            message: None,
            about: Vec::new(),
            numbers: None,
        }
    }

    fn since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }

    fn about(self, about: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { about: about.into_iter().map(Into::into).collect(), ..self }
    }

    /// With reason and message of a condition, or of what else has both, and its last transition.
    fn said_by(self, of: &Value) -> Self {
        let since = time(&of["lastTransitionTime"]).or(self.since);
        Self { since, reason: text(&of["reason"]), message: text(&of["message"]), ..self }
    }

    /// Whether it has lasted so long at `now` that it is one; what does not say since when is.
    pub fn is_due(&self, now: Option<Timestamp>) -> bool {
        let Some((now, from)) = now.zip(self.counts_from.or(self.since)) else { return true };
        let lasted = now.duration_since(from);
        lasted >= self.kind.patience() && self.kind.fades().is_none_or(|fades| lasted <= fades)
    }
}

/// When the deletion of an object was requested: `deletionTimestamp` is the end of its grace period.
fn asked_to_end(metadata: &Value) -> Option<Timestamp> {
    let grace = SignedDuration::from_secs(metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0));
    time(&metadata["deletionTimestamp"])?.checked_sub(grace).ok()
}

fn holds<'a>(object: &'a Value, condition_type: &str, status: &str) -> Option<&'a Value> {
    condition(object, condition_type).filter(|condition| condition["status"] == status)
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
