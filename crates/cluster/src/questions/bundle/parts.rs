//! What a bundle is made of, in the order in which it is written, and what is in it.

use jiff::Timestamp;

use ketcd_store::recording::WrittenBetween;
use ketcd_store::{Event, KeyValue, Revision};

/// A part of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub enum BundlePart {
    /// The state at a revision begins; its keys follow, then [`BundlePart::StateEnd`].
    State(Revision),
    /// A key of the state.
    Entry(KeyValue),
    /// The state is complete.
    StateEnd,
    /// A change after the state, and between which moments its revision was written, where that is known.
    Change(Box<Event>, Option<WrittenBetween>),
    /// When a revision behind the last change was written: how long nothing changed.
    Dated(Revision, WrittenBetween),
    /// Revisions that cannot be read; a state behind them follows.
    Missing(MissingPart),
}

/// Revisions that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingPart {
    /// The first.
    pub from: Revision,
    /// The last.
    pub to: Revision,
}

/// What is in a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleSummary {
    /// The objects that are in it whole, alive or not.
    pub objects: u64,
    /// The objects that are in it as far as a scheduler reads them.
    pub reduced: u64,
    /// The changes in it.
    pub revisions: u64,
    /// The Secrets among its objects whose values are masked.
    pub masked: u64,
    /// Versions that could not be decoded, so that they were left out: they may hold what was to go.
    pub left_out: u64,
    /// The state that it begins with.
    pub from: Revision,
    /// The revision that it ends with.
    pub to: Revision,
    /// When these two were written, where that is known.
    pub times: (Option<Timestamp>, Option<Timestamp>),
}
