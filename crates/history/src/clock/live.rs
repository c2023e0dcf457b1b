//! Dates changes as they arrive from a live cluster: by their arrival, as etcd sends a change when it is committed.

use std::time::Duration;

use jiff::Timestamp;

use super::{Dated, Micros, dated};

/// A clock for changes that arrive one by one. Times never run backwards.
#[derive(Debug, Default)]
pub struct LiveClock {
    /// The last change's interval.
    last: Option<(Micros, Micros)>,
}

impl LiveClock {
    /// Dates a change that arrives at `arrival` and was committed at most `delay` before: a round trip and 10 ms, or longer after an outage.
    pub fn date(&mut self, arrival: Timestamp, delay: Duration) -> Dated {
        let latest = arrival.as_microsecond();
        let earliest = latest.saturating_sub(Micros::try_from(delay.as_micros()).unwrap_or(Micros::MAX));
        let (earliest, latest) = self.last.map_or((earliest, latest), |last| (earliest.max(last.0), latest.max(last.1)));
        self.last = Some((earliest, latest));
        dated(earliest, latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_as_old_as_its_delay_at_most_and_never_older_than_the_one_before() {
        let mut clock = LiveClock::default();
        let mut date = |arrival: &str, milliseconds: u64| {
            let dated = clock.date(arrival.parse().unwrap(), Duration::from_millis(milliseconds));
            format!("{} ±{}", dated.time.strftime("%S%.3f"), dated.error)
        };
        assert_eq!(date("2026-01-01T00:00:01.010Z", 4), "01.008 ±0.002");
        assert_eq!(date("2026-01-01T00:00:11.006Z", 10_000), "06.006 ±5");
        assert_eq!(date("2026-01-01T00:00:11.006Z", 30_000), "06.006 ±5");
        assert_eq!(date("2026-01-01T00:00:11.000Z", 0), "11.003 ±0.003");
    }
}
