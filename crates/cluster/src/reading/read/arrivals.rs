//! When changes were made that arrive while they are watched.

use std::time::Instant;

use jiff::Timestamp;

use ketcd_history::clock::{Dated, LiveClock};
use ketcd_store::Revision;

use crate::cluster::Cluster;

/// Dates the changes that arrive by their arrival.
pub(crate) struct Arrivals {
    newest: Revision,
    begun: Instant,
    clock: LiveClock,
}

impl Arrivals {
    /// Those after the revision that was the newest when the watch began, at a moment.
    pub(crate) fn after(newest: Revision, begun: Instant) -> Self {
        Self { newest, begun, clock: LiveClock::default() }
    }

    /// Returns when a change was made that arrives just now; `None` for one that was there before.
    pub(super) fn date(&mut self, cluster: &Cluster, revision: Revision) -> Option<Dated> {
        if revision <= self.newest {
            return None;
        }
        let delay = cluster.source.latest_delay(revision).unwrap_or_else(|| self.begun.elapsed());
        Some(self.clock.date(Timestamp::now(), delay))
    }
}
