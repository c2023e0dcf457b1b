//! What is known so far of when revisions were written.

use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, OnceCell};

use ketcd_history::Leases;
use ketcd_history::clock::Clock;
use ketcd_store::{Revision, RevisionSpan};

use super::samples::Samples;

/// What is known of times so far.
#[derive(Default)]
pub(crate) struct Dates {
    pub(super) clock: OnceCell<Arc<Clock>>,
    /// What was read of a long history.
    pub(super) sampled: Mutex<Option<Sampled>>,
    /// All leases, if a file has a long history.
    pub(super) leases: OnceCell<Leases>,
    /// The first readable revision, once the user was told of it.
    pub(super) reach: OnceLock<Revision>,
}

/// What was read of a long history.
pub(super) struct Sampled {
    pub(super) span: RevisionSpan,
    pub(super) samples: Samples,
    pub(super) tickers: Vec<Ticker>,
}

/// An object that is renewed all the time.
pub(super) struct Ticker {
    pub(super) key: Vec<u8>,
    /// About how many revisions pass from one renewal to the next.
    pub(super) period: i64,
}
