//! A step with the time that its object carries.

use jiff::Timestamp;
use serde_json::Value;

use crate::actor::Actor;
use crate::timeline::Step;

pub(super) struct TimedStep {
    pub(super) step: Step,
    pub(super) at: Timestamp,
    pub(super) by: Option<Actor>,
}

/// Reads a time in RFC 3339.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
