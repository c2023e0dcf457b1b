//! Durations as people read them, with the doubt that the clock leaves.

use std::time::Duration;

use ketcd_history::clock::Dated;

/// Returns the time from one write to a later one: `7 ms`, `1.256 s`, `5m12s`; where the clock is not exact enough to show that any time passed, an upper bound: `<0.9 s`.
pub fn between(from: Dated, to: Dated) -> String {
    let seconds = seconds_between(from, to);
    let doubt = from.error + to.error;
    if doubt > seconds { format!("<{}", length(rounded_up(seconds + doubt))) } else { length(seconds) }
}

/// Seconds from one write to a later one, never negative.
pub fn seconds_between(from: Dated, to: Dated) -> f64 {
    (to.time.duration_since(from.time).as_secs_f64() * 1000.0).round().max(0.0) / 1000.0
}

/// A length of time: `7 ms`, `1.256 s`, `12.3 s`, `5m12s`, `2h05m`, `3d4h`.
pub fn length(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        ..0.9995 => format!("{} ms", (seconds * 1000.0).round()),
        ..10.0 => format!("{} s", trimmed(seconds, 3)),
        ..60.0 => format!("{} s", trimmed(seconds, 1)),
        ..3600.0 if whole.is_multiple_of(60) => format!("{}m", whole / 60),
        ..3600.0 => format!("{}m{:02}s", whole / 60, whole % 60),
        ..86_400.0 => format!("{}h{:02}m", whole / 3600, whole / 60 % 60),
        _ => format!("{}d{}h", whole / 86_400, whole / 3600 % 24),
    }
}

fn rounded_up(seconds: f64) -> f64 {
    let step = if seconds < 1.0 { 100.0 } else { 10.0 };
    (seconds * step).ceil() / step
}

fn trimmed(seconds: f64, digits: usize) -> String {
    let text = format!("{seconds:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns how old something is: `40 s`, `26 min`, `26 h`, `3 days`.
pub(crate) fn age_words(age: Duration) -> String {
    const MINUTE_SECONDS: u64 = 60;
    const HOUR_SECONDS: u64 = 60 * MINUTE_SECONDS;
    const DAY_SECONDS: u64 = 24 * HOUR_SECONDS;
    let seconds = age.as_secs();
    match seconds {
        0..MINUTE_SECONDS => format!("{seconds} s"),
        MINUTE_SECONDS..HOUR_SECONDS => format!("{} min", seconds / MINUTE_SECONDS),
        seconds if seconds < 3 * DAY_SECONDS => format!("{} h", seconds / HOUR_SECONDS),
        seconds => format!("{} days", seconds / DAY_SECONDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_well() {
        let lengths: Vec<_> = [0.0, 0.007, 0.9996, 1.256, 12.34, 59.99, 60.0, 312.2, 7500.0, 300_000.0].into_iter().map(length).collect();
        assert_eq!(lengths, ["0 ms", "7 ms", "1 s", "1.256 s", "12.3 s", "60 s", "1m", "5m12s", "2h05m", "3d11h"]);
    }

    #[test]
    fn uncertainty_is_shown() {
        let at = |milliseconds, error| Dated { time: jiff::Timestamp::from_millisecond(milliseconds).unwrap(), error };
        assert_eq!(between(at(1000, 0.1), at(3500, 0.1)), "2.5 s");
        assert_eq!(between(at(1000, 0.3), at(1200, 0.2)), "<700 ms");
    }
}
