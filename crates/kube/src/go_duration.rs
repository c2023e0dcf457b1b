//! Durations as Go writes and reads them (`time.Duration.String`, `time.ParseDuration`), with Go's messages for text that is not a duration.

/// A second in nanoseconds.
pub const NANOS_PER_SECOND: i64 = 1_000_000_000;

const DURATION_UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", NANOS_PER_SECOND),
    ("m", 60 * NANOS_PER_SECOND),
    ("h", 3_600 * NANOS_PER_SECOND),
];

/// Parses a duration such as `1h30m` and returns it in nanoseconds.
///
/// # Errors
/// Why it is not a valid duration, in Go's words.
pub fn parse_go_duration(text: &str) -> Result<i64, String> {
    parse_duration(text, &DURATION_UNITS)
}

/// Parses a duration as Go does, with the given units and their lengths in nanoseconds.
///
/// # Errors
/// Why it is not a valid duration, in Go's words.
pub fn parse_duration(text: &str, units: &[(&str, i64)]) -> Result<i64, String> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    let invalid = || format!("time: invalid duration {text:?}");
    let mut total: i64 = 0;
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(invalid());
        }
        let (name, after) = tail.split_at(tail.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(tail.len()));
        let unit = match units.iter().find(|(known, _)| *known == name) {
            Some((_, unit)) => *unit,
            None if name.is_empty() => return Err(format!("time: missing unit in duration {text:?}")),
            None => return Err(format!("time: unknown unit {name:?} in duration {text:?}")),
        };
        let count: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let part: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().map_err(|_| invalid())? };
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as Go cuts it")]
        let below = (part * unit as f64) as i64;
        let sum = count.checked_mul(unit).and_then(|value| value.checked_add(below)).and_then(|value| total.checked_add(value));
        total = sum.ok_or_else(invalid)?;
        rest = after;
    }
    Ok(sign * total)
}

/// Writes nanoseconds as Go's `Duration.String` does: `1h30m0s`.
pub fn go_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    match size {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{size}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(size, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(size, 1_000_000)),
        _ => {
            let minutes = size / 60_000_000_000;
            let seconds = decimal(size % 60_000_000_000, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// `value / unit` without trailing zeros; `unit` is a power of ten.
fn decimal(value: u64, unit: u64) -> String {
    let fraction = value % unit;
    if fraction == 0 {
        return (value / unit).to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{}.{}", value / unit, format!("{fraction:0digits$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let table = [
            ("15s", 15 * NANOS_PER_SECOND),
            ("-1m30s", -90 * NANOS_PER_SECOND),
            ("1.5s", NANOS_PER_SECOND * 3 / 2),
            ("0", 0),
            (".5s", NANOS_PER_SECOND / 2),
            ("1h2m3.5s", 3_723_500_000_000),
        ];
        for (text, want) in table {
            assert_eq!(parse_go_duration(text), Ok(want), "{text:?}");
        }
        let wrong = [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("5", "time: missing unit in duration \"5\""),
            ("s", "time: invalid duration \"s\""),
            (".s", "time: invalid duration \".s\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1s2", "time: missing unit in duration \"1s2\""),
        ];
        for (text, want) in wrong {
            assert_eq!(parse_go_duration(text), Err(want.to_owned()), "{text:?}");
        }
    }
    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanos, text) in [
            (0, "0s"),
            (12, "12ns"),
            (12_000, "12µs"),
            (1_500, "1.5µs"),
            (-5_000_000, "-5ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (5_400_000_000_000, "1h30m0s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(go_duration(nanos), text);
        }
    }
}
