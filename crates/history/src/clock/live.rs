//! Dates changes as they arrive from a live cluster, when what comes after is not known yet.

use jiff::Timestamp;
use serde_json::Value;

use super::evidence::{Evidence, Stamp};
use super::{Dated, Micros, SECOND, dated};
use ketcd_store::Revision;

/// How long before its arrival a change may have been committed, as long as its own stamps agree.
const DELAY: Micros = SECOND / 2;
/// Stamps older than this when they arrive show that what arrives is not new: a watch that catches up, or a replayed recording.
const OLD: Micros = 5 * SECOND;

/// A clock for changes that arrive one by one. Times never run backwards.
#[derive(Debug, Default)]
pub struct LiveClock {
    evidence: Evidence,
    /// The last change's interval.
    last: Option<(Micros, Micros)>,
    /// Whether the last stamps seen were as old as their arrival.
    prompt: bool,
}

impl LiveClock {
    /// Dates a change by its own stamps and, where they agree with it, by its arrival; `None` where it has no stamps and arrivals are not to be trusted.
    pub fn date(&mut self, revision: Revision, key: &[u8], created: bool, object: Option<&Value>, arrival: Timestamp) -> Option<Dated> {
        let known = self.evidence.stamps.len();
        self.evidence.observe(revision, key, created, object);
        let arrival = arrival.as_microsecond();
        let own = self.evidence.stamps.drain(known..).rfind(Stamp::is_reference);
        let interval = match own {
            Some(stamp) => {
                let latest = stamp.latest().unwrap_or(stamp.at + stamp.unit);
                self.prompt = stamp.at <= arrival && arrival < latest + OLD;
                if self.prompt { (stamp.at.max(arrival - DELAY), arrival) } else { (stamp.at, latest) }
            }
            None if self.prompt => (arrival - DELAY, arrival),
            None => return None,
        };
        let (earliest, latest) = self.last.map_or(interval, |last| (interval.0.max(last.0), interval.1.max(last.1)));
        self.last = Some((earliest, latest));
        Some(dated(earliest, latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn date(clock: &mut LiveClock, stamp: Option<&str>, arrival: &str) -> Option<String> {
        let object = stamp.map(|stamp| json!({"metadata": {"creationTimestamp": stamp}}));
        let dated = clock.date(Revision(2), b"/k", true, object.as_ref(), arrival.parse().unwrap());
        dated.map(|dated| format!("{} ±{}", dated.time.strftime("%S%.3f"), dated.error))
    }

    #[test]
    fn arrivals_count_while_stamps_agree_with_them() {
        let mut clock = LiveClock::default();
        assert_eq!(date(&mut clock, None, "2026-01-01T00:00:01Z"), None);
        assert_eq!(date(&mut clock, Some("2026-01-01T00:00:01Z"), "2026-01-01T00:00:01.9Z").unwrap(), "01.650 ±0.25");
        assert_eq!(date(&mut clock, None, "2026-01-01T00:00:03Z").unwrap(), "02.750 ±0.25");
    }

    #[test]
    fn replayed_changes_have_their_own_times() {
        let mut clock = LiveClock::default();
        assert_eq!(date(&mut clock, Some("2025-01-01T00:00:01Z"), "2026-01-01T00:00:01Z").unwrap(), "01.525 ±0.525");
        assert_eq!(date(&mut clock, None, "2026-01-01T00:00:02Z"), None);
    }
}
