//! `--qps`: at most so many requests a second.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Lets requests begin one after the other, no faster than allowed.
#[derive(Debug)]
pub(super) struct Pacer {
    interval: Option<Duration>,
    /// When the next request may begin.
    next: Mutex<Instant>,
}

impl Pacer {
    /// At most `qps` requests a second, or as many as are made.
    pub(super) fn new(qps: Option<f64>) -> Self {
        Self { interval: qps.map(|qps| Duration::from_secs_f64(1.0 / qps)), next: Mutex::new(Instant::now()) }
    }

    /// Waits until a request may begin.
    pub(super) async fn turn(&self) {
        let Some(interval) = self.interval else { return };
        let turn = {
            let mut next = self.next.lock().await;
            let turn = (*next).max(Instant::now());
            *next = turn + interval;
            turn
        };
        sleep_until(turn).await;
    }
}
