//! Moments as a person writes them: `2026-11-20T22:16:12Z`, `2026-11-20 22:16`, `14:03:20`, `10m`, `10 minutes ago`; and the ends of a span, which may be revisions too.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use ketcd_store::Revision;

/// A moment in the data's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Moment {
    /// RFC 3339, or a date and a time of day in UTC.
    Absolute(Timestamp),
    /// A time of day in UTC: the last one at or before the reference time.
    TimeOfDay(Time),
    /// This long before the reference time.
    Ago(SignedDuration),
}

/// A text that is not a moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid time {text:?}: expected a time such as 2026-11-20T22:16:12Z, 2026-11-20 22:16 or 14:03:20 (UTC), or an age such as 10m or 1d"
)]
pub struct ParseMomentError {
    /// The text.
    pub text: String,
}

impl Moment {
    /// Returns the moment as a time, given the reference time: now on a live etcd, else the newest time in the data. `None` beyond the calendar.
    pub fn resolve(self, reference: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Absolute(time) => Some(time),
            Self::Ago(duration) => reference.checked_sub(duration).ok(),
            Self::TimeOfDay(time) => {
                let now = reference.to_zoned(TimeZone::UTC);
                let today = now.date().to_datetime(time).to_zoned(TimeZone::UTC).ok()?.timestamp();
                if today <= reference { Some(today) } else { today.checked_sub(SignedDuration::from_hours(24)).ok() }
            }
        }
    }
}

impl FromStr for Moment {
    type Err = ParseMomentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseMomentError { text: text.to_owned() };
        if let Some(span) = text.strip_prefix('-') {
            return duration(span).map(Self::Ago).ok_or_else(error);
        }
        if let Some(span) = duration(text) {
            return Ok(Self::Ago(span));
        }
        if let Some(span) = text.strip_suffix("ago") {
            return spoken(span).map(Self::Ago).ok_or_else(error);
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self::Absolute(time));
        }
        let civil = text.strip_suffix('Z').unwrap_or(text);
        // A date alone is a day, not a moment; and of a date with a time jiff would read the time alone.
        if civil.contains('-') {
            let time = civil.contains(':').then(|| civil.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()).flatten();
            return time.map(|time| Self::Absolute(time.timestamp())).ok_or_else(error);
        }
        civil.parse::<Time>().map(Self::TimeOfDay).map_err(|_| error())
    }
}

/// A duration in words, as it stands before `ago`: `10m`, `1 hour`, `2 days 3 hours`.
fn spoken(text: &str) -> Option<SignedDuration> {
    let text = text.trim().to_ascii_lowercase();
    let sign = |word| match word {
        "a" | "an" => "1",
        "and" => "",
        "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "m",
        "hr" | "hrs" | "hour" | "hours" => "h",
        "day" | "days" => "d",
        other => other,
    };
    let signs: String = text.split_whitespace().map(sign).collect();
    duration(&signs)
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute(time) => write!(f, "{time}"),
            Self::TimeOfDay(time) => write!(f, "{time}"),
            Self::Ago(span) => write!(f, "{} ago", format!("{span:#}").replace(' ', "")),
        }
    }
}

/// One end of a span of history: a revision, or a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// This revision.
    Revision(Revision),
    /// The newest revision at this moment.
    Moment(Moment),
}

/// A text that is neither a revision nor a moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an age such as 10m, a time such as 2026-11-20T22:16:12Z or 14:03:20 (UTC), or a revision")]
pub struct ParseBoundError;

impl FromStr for Bound {
    type Err = ParseBoundError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<i64>() {
            Ok(number) if number > 0 => Ok(Self::Revision(Revision(number))),
            _ => text.parse().map(Self::Moment).map_err(|_| ParseBoundError),
        }
    }
}

/// The units of a duration, in nanoseconds: Go's down to milliseconds, and days.
const DURATION_UNITS: [(&str, i64); 5] =
    [("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000), ("d", 86_400_000_000_000)];

/// Parses a duration as Go writes it, with days: `10m`, `1h30m`, `1.5s`, `2d`. It has no sign, and always a unit.
pub fn duration(text: &str) -> Option<SignedDuration> {
    let plain = text != "0" && !text.starts_with(['+', '-']);
    let nanos = plain.then(|| ketcd_kube::go_duration::parse_duration(text, &DURATION_UNITS).ok())??;
    Some(SignedDuration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> String {
        let reference = "2026-11-20T22:16:12Z".parse().unwrap();
        text.parse::<Moment>().unwrap().resolve(reference).unwrap().to_string()
    }

    #[test]
    fn moments_are_read_relative_to_the_data() {
        assert_eq!(resolved("2026-11-20T22:00:00.5Z"), "2026-11-20T22:00:00.5Z");
        assert_eq!(resolved("2026-11-20T23:00:00+01:00"), "2026-11-20T22:00:00Z");
        assert_eq!(resolved("14:03:20"), "2026-11-20T14:03:20Z");
        assert_eq!(resolved("14:03"), "2026-11-20T14:03:00Z");
        assert_eq!(resolved("22:30"), "2026-11-19T22:30:00Z");
        assert_eq!(resolved("-10m"), "2026-11-20T22:06:12Z");
        assert_eq!(resolved("-1h1.5s"), "2026-11-20T21:16:10.5Z");
        for text in ["2026-11-20 22:00", "2026-11-20T22:00", "2026-11-20 22:00:00Z", "2026-11-20T22:00:00"] {
            assert_eq!(resolved(text), "2026-11-20T22:00:00Z", "{text}");
        }
        // Its date counts.
        assert_eq!(resolved("2020-01-01 22:20"), "2020-01-01T22:20:00Z");
        for text in ["1 hour ago", "an hour ago", "60 minutes ago", "60 min ago", "1h ago", "1 hr ago", "3600 seconds ago"] {
            assert_eq!(resolved(text), "2026-11-20T21:16:12Z", "{text}");
        }
        assert_eq!(resolved("2 days and 1 hour ago"), "2026-11-18T21:16:12Z");
        // As kubectl's --since has it.
        assert_eq!(resolved("10m"), resolved("-10m"));
    }

    #[test]
    fn an_end_of_a_span_is_a_revision_or_a_moment() {
        assert_eq!("600".parse(), Ok(Bound::Revision(Revision(600))));
        for moment in ["10m", "-10m", "14:03", "2026-11-20T22:00:00Z"] {
            assert_eq!(moment.parse(), Ok(Bound::Moment(moment.parse().unwrap())), "{moment}");
        }
        for text in ["", "0", "-600", "r600", "yesterday"] {
            assert_eq!(text.parse::<Bound>(), Err(ParseBoundError), "{text}");
        }
    }

    #[test]
    fn moments_read_as_they_are_written() {
        let shown = |text: &str| text.parse::<Moment>().unwrap().to_string();
        assert_eq!([shown("-90s"), shown("1h30m"), shown("14:03")], ["1m30s ago", "1h30m ago", "14:03:00"]);
        assert_eq!(shown("2026-11-20T23:00:00+01:00"), "2026-11-20T22:00:00Z");
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "-",
            "-10",
            "-10x",
            "-0",
            "--1s",
            "-1us",
            "yesterday",
            "25:00",
            "2026-13-01T00:00:00Z",
            "-1e999d",
            "2026-11-20",
            "2026-11-20T22",
            "ago",
            "hour ago",
            "1 ago",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
