//! The moments that requests look at.

use jiff::Timestamp;
use ketcd_store::Revision;

/// A moment that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The revision.
    pub revision: Revision,
    /// The time that was asked for, where it was.
    pub time: Option<Timestamp>,
    /// What comes after it.
    pub after: After,
}

/// What comes after a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing: it is looked at as it was.
    Nothing,
    /// What happens from now on.
    Live,
    /// What happened then, as it is replayed.
    Replay,
}
