//! How Go writes times.

/// The second Go's zero time stands for: year 1.
pub(super) const ZERO_TIME: i64 = -62_135_596_800;

/// A time as text, without an allocation.
#[derive(Clone, Copy)]
pub(super) struct TimeText {
    text: [u8; 39],
    length: u8,
}

impl TimeText {
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("digits and separators")
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.length)]
    }

    fn push(&mut self, byte: u8) {
        self.text[usize::from(self.length)] = byte;
        self.length += 1;
    }

    fn push_two(&mut self, number: u64) {
        self.push(b'0' + (number / 10) as u8);
        self.push(b'0' + (number % 10) as u8);
    }

    /// A date and a time without their zone.
    fn of(seconds: i64) -> Self {
        let mut text = Self { text: [0; 39], length: 0 };
        let (year, month, day) = civil(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400) as u64;
        if let Ok(year @ 0..10_000) = u64::try_from(year) {
            text.push_two(year / 100);
            text.push_two(year % 100);
        } else {
            let sign = if year < 0 { "-" } else { "" };
            format!("{sign}{:04}", year.unsigned_abs()).bytes().for_each(|digit| text.push(digit));
        }
        for (separator, number) in [(b'-', month), (b'-', day), (b'T', second / 3600), (b':', second / 60 % 60), (b':', second % 60)] {
            text.push(separator);
            text.push_two(number);
        }
        text
    }
}

/// RFC 3339 in UTC, in whole seconds.
pub(super) fn time(seconds: i64) -> TimeText {
    let mut text = TimeText::of(seconds);
    text.push(b'Z');
    text
}

/// RFC 3339 in UTC with six digits. `nanos` are below a second.
pub(super) fn micro_time(seconds: i64, nanos: i64) -> TimeText {
    let mut text = TimeText::of(seconds);
    text.push(b'.');
    let micros = nanos as u64 / 1000;
    [micros / 10_000, micros / 100 % 100, micros % 100].into_iter().for_each(|two| text.push_two(two));
    text.push(b'Z');
    text
}

/// Seconds and nanoseconds, the latter from 0 to below a second.
pub(super) fn normal(seconds: i64, nanos: i64) -> (i64, i64) {
    const NANOS_PER_SECOND: i64 = 1_000_000_000;
    (seconds.wrapping_add(nanos.div_euclid(NANOS_PER_SECOND)), nanos.rem_euclid(NANOS_PER_SECOND))
}

/// Days since 1970 to a date of the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as u64, day as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_times_are_written_as_go_writes_them() {
        for (seconds, text) in [
            (1_795_210_103, "2026-11-20T21:28:23Z"),
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (-62_135_596_801, "0000-12-31T23:59:59Z"),
            (253_402_300_800, "10000-01-01T00:00:00Z"),
            (-62_198_755_200, "-0001-01-01T00:00:00Z"),
            (ZERO_TIME, "0001-01-01T00:00:00Z"),
            (i64::MAX, "292277026596-12-04T15:30:07Z"),
        ] {
            assert_eq!(time(seconds).as_str(), text);
        }
        assert_eq!(micro_time(0, 123_456_789).as_str(), "1970-01-01T00:00:00.123456Z");
        assert_eq!(micro_time(i64::MIN, 1).as_str().len(), 36);
        assert_eq!((normal(0, -1), normal(ZERO_TIME - 1, 1_000_000_000)), ((-1, 999_999_999), (ZERO_TIME, 0)));
    }
}
