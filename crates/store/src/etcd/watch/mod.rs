//! Watches: resumed after a lost connection, carried over compactions, and bounded ones proved complete.

mod apart;
mod compaction;
mod connection;
mod expected;
mod outage;
mod reconnect;
mod stream;

pub(super) use apart::watch_ranges;
pub(super) use compaction::compacted_revision;
pub(super) use stream::watch;
