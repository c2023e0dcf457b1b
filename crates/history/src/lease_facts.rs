//! What a lease says about its holder.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The parts of a lease that show whether its holder is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
            renewed: spec["renewTime"].as_str()?.parse().ok()?,
            duration: SignedDuration::from_secs(spec["leaseDurationSeconds"].as_i64()?),
            holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
        })
    }

    /// Whether it has run out at `now`.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        // The clocks of who renews and of who looks differ by some seconds.
        const CLOCK_DOUBT: SignedDuration = SignedDuration::from_secs(5);
        now.duration_since(self.renewed) > self.duration.saturating_add(CLOCK_DOUBT)
    }
}
