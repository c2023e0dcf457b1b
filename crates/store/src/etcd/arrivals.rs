//! How late changes arrive: by a round trip, or after an outage.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::Revision;

/// How much longer than a small request a change may take: where a watcher's buffer is full, etcd tries again after 10 ms
/// (`mvcc/watchable_store.go`, 3.4 to 3.7), and a busy machine wakes a process as late.
const HELD_BACK: Duration = Duration::from_millis(10);

/// How long before its arrival a change may have been committed.
#[derive(Debug, Default)]
pub(super) struct CommitLateness(Mutex<Lateness>);

#[derive(Clone, Copy, Debug, Default)]
struct Lateness {
    /// How long a small request takes, there and back.
    round_trip: Option<Duration>,
    /// Changes up to this revision were made before the connection was, after this moment.
    backlog: Option<(Revision, Option<Instant>)>,
}

impl CommitLateness {
    /// Notes a connection: changes up to `newest` are older than it is, but not older than `since`.
    pub(super) fn connected(&self, newest: Revision, since: Option<Instant>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).backlog = Some((newest, since));
    }

    /// Notes how long a small request took.
    pub(super) fn measured(&self, round_trip: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).round_trip = Some(round_trip);
    }

    /// How long before now a change of `revision` that arrives now was committed, unless its way was longer than 10 ms and the last small
    /// request's; `None` where that is not known.
    pub(super) fn latest_delay(&self, revision: Revision, now: Instant) -> Option<Duration> {
        let Lateness { round_trip, backlog } = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match backlog {
            Some((newest, since)) if revision <= newest => since.map(|since| now - since),
            Some(_) => round_trip.map(|there_and_back| there_and_back + HELD_BACK),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_an_outage_may_be_as_old_as_it_is() {
        let (arrivals, lost, seconds) = (CommitLateness::default(), Instant::now(), Duration::from_secs);
        let delays = |revisions: [i64; 2]| revisions.map(|revision| arrivals.latest_delay(Revision(revision), lost + seconds(9)));
        assert_eq!(delays([4, 5]), [None, None]);
        arrivals.measured(seconds(2));
        arrivals.connected(Revision(4), None);
        assert_eq!(delays([4, 5]), [None, Some(seconds(2) + HELD_BACK)]);
        arrivals.connected(Revision(8), Some(lost));
        assert_eq!(delays([8, 9]), [Some(seconds(9)), Some(seconds(2) + HELD_BACK)]);
    }
}
