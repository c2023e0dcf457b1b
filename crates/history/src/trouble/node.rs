//! What is wrong with a node, and with the holder of a lease.

use jiff::Timestamp;
use serde_json::Value;

use ketcd_kube::condition;

use super::{Trouble, TroubleKind, holds, text, time};
use crate::lease_facts::LeaseFacts;

/// Conditions of a node that are bad when they hold.
const PRESSURE_CONDITIONS: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

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
    let pressed = PRESSURE_CONDITIONS.iter().filter_map(|pressure| holds(node, pressure, "True"));
    troubles.extend(pressed.map(|pressed| Trouble::new(TroubleKind::NodePressure).said_by(pressed).about(text(&pressed["type"]))));
    troubles
}

/// Returns since when a node is silent: since its last heartbeat, which is the last renewal of its lease or the last status that its kubelet posted,
/// whichever came later. A heartbeat after the control plane noticed the silence does not count. If none is known, it is when the silence was noticed. Every
/// command uses this.
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
