//! How fast requests follow one another: slower than the server's other clients notice, and slower still after a failure.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Requests a second, and how many may follow at once after a quiet time (client-go's defaults for kubectl are 50 and 300).
const PER_SECOND: u32 = 20;
const BURST_REQUESTS: u32 = 40;

/// Lets requests begin no faster than allowed.
pub(super) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Waits until a request may begin.
    pub(super) async fn turn(&self) {
        let turn = {
            let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let (turn, after) = turn(*next, Instant::now());
            *next = Some(after);
            turn
        };
        sleep_until(turn).await;
    }
}

/// When a request may begin, and what is remembered for the next.
fn turn(next: Option<Instant>, now: Instant) -> (Instant, Instant) {
    let interval = Duration::from_secs(1) / PER_SECOND;
    let earliest = now.checked_sub(interval * BURST_REQUESTS).unwrap_or(now);
    let turn = next.map_or(earliest, |next| next.max(earliest));
    (turn, turn + interval)
}

/// How long to wait after failures: twice as long after each, with jitter, so that clients of a server that comes back do not come at once.
#[derive(Default)]
pub(crate) struct Backoff {
    failures: u32,
}

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(30);

impl Backoff {
    /// How long to wait after another failure; at least as long as the server asked for.
    pub(crate) fn after_failure(&mut self, asked: Option<Duration>) -> Duration {
        let wait = Duration::from_millis(400).saturating_mul(1 << self.failures.min(8)).min(MAX_WAIT);
        self.failures += 1;
        jitter(wait).max(asked.unwrap_or_default())
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Notes that it works again.
    pub(crate) fn works(&mut self) {
        self.failures = 0;
    }
}

/// Up to twice as long, by chance.
pub(crate) fn jitter(span: Duration) -> Duration {
    // A new state of the standard library's hash is random enough to keep clients apart.
    let chance = (RandomState::new().hash_one(0) % 1000) as u32;
    span + span * chance / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced_out_after_the_first() {
        let begun = Instant::now();
        let (mut next, mut now) = (None, begun);
        for _ in 0..=BURST_REQUESTS + PER_SECOND {
            let (turn, after) = turn(next, now);
            (next, now) = (Some(after), now.max(turn));
        }
        assert_eq!(now - begun, Duration::from_secs(1));
    }

    #[test]
    fn failures_make_it_wait_longer_and_the_server_may_ask_for_more() {
        let mut backoff = Backoff::default();
        let waits: Vec<Duration> = (0..12).map(|_| backoff.after_failure(None)).collect();
        assert!(waits[0] < Duration::from_secs(1) && waits[11] >= MAX_WAIT && waits[11] <= MAX_WAIT * 2, "{waits:?}");
        assert_eq!(backoff.after_failure(Some(Duration::from_secs(90))), Duration::from_secs(90));
        backoff.works();
        assert!(backoff.after_failure(None) < Duration::from_secs(1));
    }
}
