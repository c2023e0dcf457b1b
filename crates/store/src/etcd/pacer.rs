//! How fast requests follow one another, so that etcd's other clients do not wait.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How many requests are sent in a second at most, unless [`EtcdConfig::qps`](super::EtcdConfig::qps) says otherwise. Point reads back to back make
/// the puts of others wait, though etcd answers each in a tenth of a millisecond. Measured in BENCHMARKS.md.
pub const REQUESTS_A_SECOND: f64 = 1000.0;
/// How many requests may follow at once after a quiet time: most commands need no more.
const BURST_REQUESTS: u32 = 32;

/// The longest time between two requests.
const MAX_REQUEST_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// Lets requests begin one after the other, no faster than allowed.
#[derive(Debug)]
pub(super) struct Pacer(Mutex<Turns>);

impl Pacer {
    /// At most `qps` requests a second (`--qps`), or as many as do not disturb.
    pub(super) fn new(qps: Option<f64>) -> Self {
        let interval =
            Duration::try_from_secs_f64(1.0 / qps.unwrap_or(REQUESTS_A_SECOND)).unwrap_or(MAX_REQUEST_INTERVAL).min(MAX_REQUEST_INTERVAL);
        let allowance = if qps.is_some() { Duration::ZERO } else { interval * BURST_REQUESTS };
        Self(Mutex::new(Turns { interval, allowance, next: None }))
    }

    /// Waits until a request may begin.
    pub(super) async fn turn(&self) {
        let turn = self.0.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
        sleep_until(turn).await;
    }
}

/// When requests may begin.
#[derive(Debug)]
struct Turns {
    interval: Duration,
    /// For how long a time without requests is made up for.
    allowance: Duration,
    /// When the next request may begin.
    next: Option<Instant>,
}

impl Turns {
    fn take(&mut self, now: Instant) -> Instant {
        let earliest = now.checked_sub(self.allowance).unwrap_or(now);
        let turn = self.next.map_or(earliest, |next| next.max(earliest));
        self.next = Some(turn + self.interval);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long so many requests take that are made as soon as they may be.
    fn took(qps: Option<f64>, requests: u32) -> Duration {
        let begun = Instant::now();
        let mut now = begun;
        let pacer = Pacer::new(qps);
        for _ in 0..requests {
            now = now.max(pacer.0.lock().unwrap().take(now));
        }
        now - begun
    }

    #[test]
    fn many_requests_are_spaced_out() {
        assert_eq!(took(Some(10.0), 11), Duration::from_secs(1));
        assert_eq!(took(Some(f64::MIN_POSITIVE), 2), MAX_REQUEST_INTERVAL);
        assert_eq!(took(None, BURST_REQUESTS), Duration::ZERO);
        let many = took(None, 1001 + BURST_REQUESTS);
        assert!((Duration::from_millis(999)..=Duration::from_millis(1001)).contains(&many), "{many:?}");
    }
}
