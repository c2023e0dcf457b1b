//! Lost connections of a watch: when to try again, and how often to report that meanwhile.

use std::time::Duration;

use tokio::time::Instant;

/// How long a watch of the past goes on without anything new. One that follows the cluster never gives up.
pub(super) const MAX_OUTAGE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How often it is reported why there is no connection.
const TELL_EVERY: Duration = Duration::from_secs(15);

/// The connections that a watch lost.
#[derive(Debug, Default)]
pub(in crate::etcd) struct Outages {
    /// Since when there is no connection.
    since: Option<Instant>,
    /// The pause before the next try but one.
    pause: Option<Duration>,
    connected: Option<Instant>,
    told_at: Option<Instant>,
    told: bool,
}

impl Outages {
    /// Notes that the connection is lost. One that lasted begins anew with short pauses.
    pub(in crate::etcd) fn begin(&mut self, now: Instant) {
        if self.connected.take().is_none_or(|connected| now - connected > LONGEST_PAUSE) {
            self.pause = None;
        }
        self.since.get_or_insert(now);
    }

    /// Since when there is no connection; `None` where none was lost.
    pub(in crate::etcd) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// How long to wait before the next try: nothing before the first, then 1, 2, 4 … 15 s.
    pub(in crate::etcd) fn pause(&mut self) -> Duration {
        let pause = self.pause.unwrap_or(Duration::ZERO);
        self.pause = Some((pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE));
        pause
    }

    /// Whether it is time to tell the user why there is no connection.
    pub(in crate::etcd) fn is_time_to_tell(&mut self, now: Instant) -> bool {
        // A pause that ends just before counts as the whole one.
        let due = self.told_at.is_none_or(|told| now - told + FIRST_PAUSE / 2 > TELL_EVERY);
        if due {
            self.told_at = Some(now);
            self.told = true;
        }
        due
    }

    /// Notes that there is a connection again; returns whether the user was told that there was none.
    pub(in crate::etcd) fn end(&mut self, now: Instant) -> bool {
        self.since = None;
        self.connected = Some(now);
        std::mem::take(&mut self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_further_and_further_apart_and_told_every_15_s() {
        let (mut outages, began) = (Outages::default(), Instant::now());
        outages.begin(began);
        assert!(outages.is_time_to_tell(began) && !outages.is_time_to_tell(began));
        let (mut now, mut pauses, mut told) = (began, Vec::new(), Vec::new());
        for _ in 0..8 {
            let pause = outages.pause();
            now += pause;
            pauses.push(pause.as_secs());
            if outages.is_time_to_tell(now) {
                told.push((now - began).as_secs());
            }
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 15, 15, 15]);
        assert_eq!(told, [15, 30, 45, 60]);
        assert!(outages.end(now) && !outages.end(now));
    }

    #[test]
    fn a_connection_that_breaks_at_once_is_no_new_beginning() {
        let (mut outages, now) = (Outages::default(), Instant::now());
        for expected in [0, 1, 2, 4] {
            outages.begin(now);
            assert_eq!(outages.pause().as_secs(), expected);
            outages.end(now);
        }
        outages.begin(now + Duration::from_secs(16));
        assert_eq!(outages.pause(), Duration::ZERO);
    }
}
