//! The stretch of history that was asked for, and what a time of day could mean.

use jiff::{SignedDuration, Timestamp};

use ketcd_history::clock::Moment;
use ketcd_store::Revision;

/// Since when changes count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Since {
    /// Changes after this revision count; 0 where all do.
    pub after: Revision,
    /// When it was, as far as it is known.
    pub time: Option<Timestamp>,
}

/// One end of the stretch of history that was asked for, as it was resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowEnd {
    /// Its revision; 0 for a beginning before the whole history.
    pub revision: Revision,
    /// The moment that was meant; for a revision that was named, when it was written. `None` where nothing shows it.
    pub time: Option<Timestamp>,
}

/// The stretch of history that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Changes after this end count; `None` where no beginning was asked for.
    pub since: Option<WindowEnd>,
    /// The state at this end is looked at; `None` where the newest one is.
    pub until: Option<WindowEnd>,
}

/// The moments around a time of day that is in no part of a history, where the day was not given: the one before it, and the one after.
pub(crate) fn days_beside(moment: Moment, resolved: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let next = resolved.checked_add(SignedDuration::from_hours(24)).ok()?;
    matches!(moment, Moment::TimeOfDay(_)).then_some((resolved, next))
}
