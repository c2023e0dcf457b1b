//! Cron schedules as CronJobs have them: when one is due next.
//!
//! github.com/robfig/cron v3.0.1, parser.go and spec.go (Kubernetes parses by its `ParseStandard` since 1.22): five fields or a descriptor, names of months
//! and weekdays, `?` for `*`. Where day of month and weekday are both given, either may hold; a step of 1 leaves `*` what it is, a longer one does not
//! (before 1.22, with v1, it did).

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// A later run than in this many days is taken for none: 29 February comes after eight years at most.
const MAX_SEARCHED_DAYS: usize = 9 * 366;

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// At these minutes, hours, days of the month, months and weekdays, each a set of bits.
    At { minutes: u64, hours: u64, days: u64, months: u64, weekdays: u64, is_either: bool },
    /// This long after the last one.
    Every(SignedDuration),
}

impl Schedule {
    /// Reads a schedule; `None` where it cannot be read.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(every) = text.strip_prefix("@every ") {
            let every: SignedDuration = every.trim().parse().ok()?;
            return every.is_positive().then_some(Self::Every(every));
        }
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        let is_any = |field: &str| field.split(',').any(|part| matches!(part, "*" | "?" | "*/1" | "?/1"));
        Some(Self::At {
            minutes: set(minutes, 0, 59, &[])?,
            hours: set(hours, 0, 23, &[])?,
            days: set(days, 1, 31, &[])?,
            months: set(months, 1, 12, &MONTH_NAMES)?,
            weekdays: set(weekdays, 0, 6, &WEEKDAY_NAMES)?,
            is_either: !is_any(days) && !is_any(weekdays),
        })
    }

    /// Whether its runs do not depend on the hour.
    pub(crate) fn is_hourly(&self) -> bool {
        matches!(self, Self::At { hours, days, months, weekdays, .. }
            if [*hours, *days >> 1, *months >> 1, *weekdays] == [(1 << 24) - 1, (1 << 31) - 1, (1 << 12) - 1, (1 << 7) - 1])
    }

    /// Whether some of its runs may fall into the hour that a clock leaves out when it is set forward.
    pub(crate) fn is_nightly(&self) -> bool {
        !self.is_hourly() && matches!(self, Self::At { hours, .. } if hours & 0b1111 != 0)
    }

    /// When it is due next after a time, in a zone of this offset from UTC.
    pub(crate) fn next(&self, after: Timestamp, offset: Offset) -> Option<Timestamp> {
        let Self::At { minutes, hours, .. } = self else {
            let Self::Every(every) = self else { return None };
            return after.checked_add(*every).ok();
        };
        let begin = offset.to_datetime(after).checked_add(1.minute()).ok()?;
        let mut day = begin.date();
        for _ in 0..MAX_SEARCHED_DAYS {
            if self.has_day(day) {
                let from = if day == begin.date() { begin.time() } else { jiff::civil::time(0, 0, 0, 0) };
                for hour in bits(*hours).filter(|hour| *hour >= from.hour()) {
                    let least = if hour == from.hour() { from.minute() } else { 0 };
                    if let Some(minute) = bits(*minutes).find(|minute| *minute >= least) {
                        let time = jiff::civil::time(hour, minute, 0, 0);
                        return offset.to_timestamp(DateTime::from_parts(day, time)).ok();
                    }
                }
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    fn has_day(&self, day: jiff::civil::Date) -> bool {
        let Self::At { days, months, weekdays, is_either, .. } = self else { return false };
        let in_month = days >> day.day() & 1 == 1;
        let in_week = weekdays >> day.weekday().to_sunday_zero_offset() & 1 == 1;
        let fits = if *is_either { in_month || in_week } else { in_month && in_week };
        months >> day.month() & 1 == 1 && fits
    }
}

const MONTH_NAMES: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAY_NAMES: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

fn bits(set: u64) -> impl Iterator<Item = i8> {
    (0..60).filter(move |bit| set >> bit & 1 == 1)
}

/// The bits of a field: parts of a list, each `*`, a number or a range, with a step.
fn set(field: &str, least: u32, most: u32, names: &[&str]) -> Option<u64> {
    field.split(',').map(|part| range(part, least, most, names)).try_fold(0, |sum, part| Some(sum | part?))
}

fn range(part: &str, least: u32, most: u32, names: &[&str]) -> Option<u64> {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let step: u32 = step.map_or(Some(1), |step| step.parse::<u32>().ok().filter(|step| *step > 0))?;
    let number = |text: &str| {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name)).and_then(|place| u32::try_from(place).ok());
        named.map(|place| place + least).or_else(|| text.parse().ok())
    };
    let (from, to) = match (range, range.split_once('-')) {
        ("*" | "?", _) => (least, most),
        (_, Some((from, to))) => (number(from)?, number(to)?),
        // `5/15` goes on to the end.
        _ if part.contains('/') => (number(range)?, most),
        _ => (number(range)?, number(range)?),
    };
    let is_valid = least <= from && from <= to && to <= most;
    is_valid.then(|| (from..=to).step_by(step as usize).fold(0, |sum, bit| sum | 1 << bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedule: &str, after: &str, wanted: &str) {
        let next = Schedule::parse(schedule).unwrap_or_else(|| panic!("{schedule}")).next(after.parse().unwrap(), Offset::UTC);
        assert_eq!(next.map(|next| next.to_string()).unwrap_or_default(), wanted, "{schedule} after {after}");
    }

    #[test]
    fn the_next_run_is_as_robfig_cron_says() {
        // Cases of spec_test.go, less the seconds.
        check("0/15 * * * *", "2012-07-09T14:45:00Z", "2012-07-09T15:00:00Z");
        check("*/15 * * * *", "2012-07-09T14:59:59Z", "2012-07-09T15:00:00Z");
        check("20-35/15 * * * *", "2012-07-09T15:45:00Z", "2012-07-09T16:20:00Z");
        check("0 0 9 apr-oct ?", "2012-07-09T23:35:00Z", "2012-08-09T00:00:00Z");
        check("0 0 */5 Apr,Aug,Oct Mon", "2012-07-09T23:35:00Z", "2012-08-01T00:00:00Z");
        check("0 0 29 2 ?", "2012-07-09T23:35:00Z", "2016-02-29T00:00:00Z");
        check("0 0 * feb Mon/2", "2012-07-09T23:35:00Z", "2013-02-01T00:00:00Z");
        check("0 0 */1 * Mon", "2012-07-09T23:35:00Z", "2012-07-16T00:00:00Z");
        check("*/5 * * * *", "2026-11-21T11:20:00Z", "2026-11-21T11:25:00Z");
        check("@daily", "2026-11-21T11:20:00Z", "2026-11-22T00:00:00Z");
        check("@every 1h30m", "2026-11-21T11:20:00Z", "2026-11-21T12:50:00Z");
        check("0 0 30 2 *", "2026-11-21T11:20:00Z", "");
    }

    #[test]
    fn what_is_no_schedule_is_none() {
        for schedule in ["", "* * * *", "60 * * * *", "* * * * 7", "*/0 * * * *", "5-3 * * * *", "@sometimes", "@every -1h", "@every"] {
            assert_eq!(Schedule::parse(schedule), None, "{schedule}");
        }
    }

    #[test]
    fn a_zone_moves_it() {
        let (schedule, after) = (Schedule::parse("0 3 * * *").unwrap(), "2026-11-21T11:20:00Z".parse().unwrap());
        let next = |hours| schedule.next(after, jiff::tz::offset(hours)).unwrap().to_string();
        assert_eq!([next(0), next(-9), next(9)], ["2026-11-22T03:00:00Z", "2026-11-21T12:00:00Z", "2026-11-21T18:00:00Z"]);
    }
}
