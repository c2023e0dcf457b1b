//! The recording's own time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The recording's own time: it begins with the wall clock's and goes on while something is recorded. A clock that is set, and a time in which no
/// recorder ran, make nothing older.
pub(super) struct Clock {
    pub(super) begun: i64,
    pub(super) started: Instant,
}

impl Clock {
    /// How long the recorder runs.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Milliseconds: since 1970 when the recording began, and those that were recorded since.
    pub(super) fn now(&self) -> i64 {
        self.begun.saturating_add(i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX / 4))
    }
}

/// Milliseconds since 1970, by the wall clock.
pub(super) fn wall_clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as i64)
}
