//! When changes were made: by a clock, and those that arrive by their arrival.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;

use ketcd_history::clock::{Clock, Dated, LiveClock};
use ketcd_history::{AttributedChange, Change};
use ketcd_store::Revision;

use crate::cluster::Cluster;

/// When changes were made.
pub(crate) struct Dates {
    clock: Arc<Clock>,
    /// Changes after this revision arrive; the watch for them began at this moment.
    arriving: Option<(Revision, Instant)>,
    arrivals: LiveClock,
}

impl Dates {
    /// As a clock knows.
    pub(crate) fn by(clock: Arc<Clock>) -> Self {
        Self { clock, arriving: None, arrivals: LiveClock::default() }
    }

    /// The same, with changes after a revision dated by their arrival; the watch for them began at a moment.
    pub(crate) fn arriving_after(self, newest: Revision, begun: Instant) -> Self {
        Self { arriving: Some((newest, begun)), ..self }
    }

    /// Returns what dates the changes that are there already.
    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Returns when a change was made that arrives just now; `None` for one that was there before.
    pub(super) fn arrival(&mut self, cluster: &Cluster, revision: Revision) -> Option<Dated> {
        let (_, begun) = self.arriving.filter(|(newest, _)| revision > *newest)?;
        let delay = cluster.source.latest_delay(revision).unwrap_or_else(|| begun.elapsed());
        Some(self.arrivals.date(Timestamp::now(), delay))
    }
}

/// A change with its time and its author: by its arrival where it has just arrived, else by a clock.
pub(super) fn attributed(change: Change, arrival: Option<Dated>, clock: &Clock) -> AttributedChange {
    match arrival {
        Some(dated) => AttributedChange::arriving(change, dated),
        None => AttributedChange::new(change, clock),
    }
}
