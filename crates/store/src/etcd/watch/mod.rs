//! Watches: resumed after a lost connection, carried over compactions, and bounded ones proved complete.

mod compaction;
mod connection;
mod expectation;
mod outage;
mod ranges;
mod reconnect;
mod stream;

pub(super) use compaction::compacted_revision;
pub(super) use ranges::watch_ranges;
pub(super) use stream::watch;
