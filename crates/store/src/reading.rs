//! The requests to a source and its answers.

use futures_util::stream::{BoxStream, StreamExt};

use super::{Event, KeyValue, Result, Revision};

/// Which generations of a key to look for. A generation lasts from a creation to the deletion after it (etcd's `keyIndex.generations`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generations {
    /// All of them; it may have been alive at these revisions.
    All(Vec<Revision>),
    /// The last one; it was alive at these revisions.
    Last(Vec<Revision>),
}

/// What became of one key.
pub struct KeyHistory<'a> {
    /// Its changes, ascending, as a watch brings them.
    pub items: BoxStream<'a, Result<WatchItem>>,
    /// Where earlier generations of the key may have been missed.
    pub unsearched: Option<Unsearched>,
}

impl<'a> KeyHistory<'a> {
    /// A history without a doubt.
    pub fn of(items: impl futures_util::Stream<Item = Result<WatchItem>> + Send + 'a) -> Self {
        Self { items: items.boxed(), unsearched: None }
    }
}

/// Revisions that were not all searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsearched {
    /// The first of them.
    pub from: Revision,
    /// The last of them.
    pub to: Revision,
    /// The longest run that was not looked at: a generation that fits into it was not seen.
    pub longest: i64,
}

/// How much of each key a range should bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Keys and revisions; values are left empty.
    Keys,
    /// Values too.
    Values,
}

/// Where a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this revision.
    Revision(Revision),
    /// Never.
    Forever,
}

/// The answer to a range: one revision, many keys.
pub struct Listing<'a> {
    /// The revision all entries are of.
    pub revision: Revision,
    /// The keys, ascending.
    pub entries: BoxStream<'a, Result<KeyValue>>,
}

/// What a watch brings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum WatchItem {
    /// A change.
    Event(Event),
    /// Revisions `from` to `to`, both included, cannot be read any more (compacted away): a gap, not a guess.
    Gap {
        /// The first revision that is missing.
        from: Revision,
        /// The last revision that is missing.
        to: Revision,
    },
    /// Nothing else happened up to this revision.
    Progress(Revision),
}
