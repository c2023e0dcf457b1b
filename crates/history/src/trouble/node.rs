//! What is wrong with a node, and with the holder of a lease.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_kube::condition;

use super::{Trouble, TroubleKind, holds, text, time};

/// Conditions of a node that are bad when they hold.
const PRESSURES: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/// The troubles of a node by its conditions, the gravest first.
pub(super) fn troubles(node: &Value) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    match condition(node, "Ready") {
        Some(ready) if ready["status"] == "Unknown" => {
            let silent = Trouble::new(TroubleKind::NodeSilent).said_by(ready);
            let since = silent_since(None, time(&ready["lastHeartbeatTime"]), silent.since);
            troubles.push(Trouble { counts_from: silent.since, since, ..silent });
        }
        Some(ready) if ready["status"] == "False" => troubles.push(Trouble::new(TroubleKind::NodeNotReady).said_by(ready)),
        _ => {}
    }
    let pressed = PRESSURES.iter().filter_map(|pressure| holds(node, pressure, "True"));
    troubles.extend(pressed.map(|pressed| Trouble::new(TroubleKind::NodePressure).said_by(pressed).about(text(&pressed["type"]))));
    troubles
}

/// Returns since when a node is silent: since its last heartbeat, which is the last renewal of its lease or the last status that its kubelet posted,
/// whichever came later. A heartbeat after the control plane noticed the silence is none of before it. Where none is known, it is when that was noticed.
/// Every command says what this says.
pub fn silent_since(renewed: Option<Timestamp>, posted: Option<Timestamp>, noticed: Option<Timestamp>) -> Option<Timestamp> {
    let before = |beat: &Timestamp| noticed.is_none_or(|noticed| *beat <= noticed);
    [renewed, posted].into_iter().flatten().filter(before).max().or(noticed)
}

impl Trouble {
    /// Returns since when a node is silent whose status says so, given the last renewal of its lease: see [`silent_since`].
    pub fn silent_since(&self, renewed: Option<Timestamp>) -> Option<Timestamp> {
        // Without a heartbeat the status has when the silence was noticed.
        let posted = self.since.filter(|_| self.since != self.counts_from);
        silent_since(renewed, posted, self.counts_from.or(self.since))
    }
}

/// The parts of a lease that show whether its holder is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct LeaseFacts {
    /// When it was renewed last.
    pub renewed: Timestamp,
    /// How long that is good for.
    pub duration: SignedDuration,
    /// Who holds it; empty where it was given back.
    pub holder: String,
}

impl LeaseFacts {
    /// Reads a Lease; `None` where it does not say when it was renewed.
    pub fn of(lease: &Value) -> Option<Self> {
        let spec = &lease["spec"];
        Some(Self {
            renewed: time(&spec["renewTime"])?,
            duration: SignedDuration::from_secs(spec["leaseDurationSeconds"].as_i64()?),
            holder: text(&spec["holderIdentity"]).unwrap_or_default(),
        })
    }

    /// Whether it has run out at `now`.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        // The clocks of who renews and of who looks differ by some seconds.
        const DOUBT: SignedDuration = SignedDuration::from_secs(5);
        now.duration_since(self.renewed) > self.duration.saturating_add(DOUBT)
    }
}

/// Returns what is wrong with the holder of a lease that is no longer renewed, or that a leader gave back.
pub fn lease_trouble(kind: TroubleKind, lease: &LeaseFacts, now: Option<Timestamp>) -> Option<Trouble> {
    // A leader that ends takes its name off (client-go tools/leaderelection, `release`).
    if kind == TroubleKind::ComponentSilent && lease.holder.is_empty() {
        return Some(Trouble::new(TroubleKind::LeaseReleased).since(Some(lease.renewed)));
    }
    let expired = now.is_some_and(|now| lease.has_expired(now));
    let holder = Some(lease.holder.clone()).filter(|holder| !holder.is_empty());
    expired.then(|| Trouble { numbers: Some((lease.duration.as_secs(), 0)), ..Trouble::new(kind).since(Some(lease.renewed)).about(holder) })
}
