//! A step in an object's history, by itself and with its place in time.

use super::{StepDetail, StepKind};
use crate::actor::Actor;
use crate::attributed_change::Logged;
use crate::clock::Dated;
use ketcd_store::Revision;

/// A step as one change shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happened, for example [`StepKind::Scheduled`].
    pub phase: StepKind,
    /// More about it.
    pub detail: StepDetail,
}

impl Step {
    pub(super) fn new(phase: StepKind, detail: impl Into<StepDetail>) -> Self {
        Self { phase, detail: detail.into() }
    }
}

/// A step with its place in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What happened, for example [`StepKind::Scheduled`].
    pub phase: StepKind,
    /// The revision that shows it.
    pub revision: Revision,
    /// When.
    pub dated: Option<Dated>,
    /// By whom.
    pub by: Option<Actor>,
    /// What audit logs say of that.
    pub logged: Option<Box<Logged>>,
    /// Whether the revision is only about the one that etcd has.
    pub is_placed: bool,
    /// More about it.
    pub detail: StepDetail,
    /// Whether it took longest of all, counted from the phase before.
    pub longest: bool,
}

/// Marks the phase that took longest, if there are more than two.
pub(super) fn mark_longest(phases: &mut [Phase]) {
    phases.iter_mut().for_each(|phase| phase.longest = false);
    let lengths = phases.windows(2).map(|pair| match (pair[0].dated, pair[1].dated) {
        (Some(from), Some(to)) => to.time.duration_since(from.time),
        _ => jiff::SignedDuration::ZERO,
    });
    let longest = lengths.enumerate().max_by_key(|(_, length)| *length).filter(|(_, length)| length.is_positive());
    if let Some((place, _)) = longest.filter(|_| phases.len() > 2) {
        phases[place + 1].longest = true;
    }
}
