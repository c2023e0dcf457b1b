//! A change with its time and its actor.

use super::actor::{Actor, actor_by};
use super::change::Change;
use super::clock::{Arrived, Clock, Dated};

/// A change with its time and its actor.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct AttributedChange {
    /// The change.
    pub change: Change,
    /// When it was made; `None` where nothing dates the revision.
    pub dated: Option<Dated>,
    /// Who made it; `None` where it is not known.
    pub actor: Option<Actor>,
    /// When a recorder received it; `None` where none noted that.
    pub arrived: Option<Arrived>,
}

impl AttributedChange {
    /// Dates `change` by `clock` and finds its actor: none is inferred that leases contradict.
    pub fn new(change: Change, clock: &Clock) -> Self {
        let dated = clock.date(change.revision);
        let actor = actor_by(&change, clock);
        let arrived = clock.arrived(change.revision);
        Self { change, dated, actor, arrived }
    }
}
