//! Durations as Go reads them (`time.ParseDuration`), in its words where it cannot.

/// A second in nanoseconds.
pub(super) const SECOND: i64 = 1_000_000_000;

const UNITS: [(&str, i64); 8] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000), ("s", SECOND), ("m", 60 * SECOND), ("h", 3_600 * SECOND)];

/// A duration in nanoseconds, or why it is none.
pub(super) fn nanoseconds(text: &str) -> Result<i64, String> {
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
        let unit = match UNITS.iter().find(|(known, _)| *known == name) {
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

#[cfg(test)]
mod tests {
    use super::{SECOND, nanoseconds};

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let table = [
            ("15s", 15 * SECOND),
            ("-1m30s", -90 * SECOND),
            ("1.5s", SECOND * 3 / 2),
            ("0", 0),
            (".5s", SECOND / 2),
            ("1h2m3.5s", 3_723_500_000_000),
        ];
        for (text, want) in table {
            assert_eq!(nanoseconds(text), Ok(want), "{text:?}");
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
            assert_eq!(nanoseconds(text), Err(want.to_owned()), "{text:?}");
        }
    }
}
