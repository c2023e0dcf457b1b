//! Amounts of a resource: Kubernetes quantities, exact to the billionth, as the scheduler adds and rounds them.

/// A quantity in billionths of its unit. Finer digits are rounded away from zero, as apimachinery's `Quantity` does when it parses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

const NANO: i128 = 1_000_000_000;

impl Amount {
    /// Parses a quantity such as `1500m`, `2Gi`, `1e3` or `0.5`; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let (multiplier, exponent) = scale(suffix)?;
        let mut digits: i128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            digits = digits.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        // digits * multiplier * 10^(exponent - fraction digits + 9), rounded up.
        let shift = exponent + 9 - i32::try_from(fraction.len()).ok()?;
        let scaled = digits.saturating_mul(multiplier);
        let nanos = if shift >= 0 {
            10_i128.checked_pow(shift.unsigned_abs()).map_or(if scaled == 0 { 0 } else { i128::MAX }, |power| scaled.saturating_mul(power))
        } else {
            10_i128.checked_pow(shift.unsigned_abs()).map_or(i128::from(scaled > 0), |power| ceil(scaled, power))
        };
        // Larger amounts than an int64 are capped, as upstream caps them.
        let nanos = nanos.min(i128::from(i64::MAX) * NANO);
        Some(Self(if negative { -nanos } else { nanos }))
    }

    /// `whole` units.
    pub fn from_whole(whole: i64) -> Self {
        Self(i128::from(whole) * NANO)
    }

    /// `milli` thousandths.
    pub fn from_milli(milli: i64) -> Self {
        Self(i128::from(milli) * (NANO / 1000))
    }

    /// The amount in whole units, rounded up (Go's `Value`).
    pub fn value(self) -> i64 {
        clamp(ceil(self.0, NANO))
    }

    /// The amount in thousandths, rounded up (Go's `MilliValue`).
    pub fn milli_value(self) -> i64 {
        clamp(ceil(self.0, NANO / 1000))
    }

    /// An amount of whole units.
    pub fn from_units(units: i64) -> Self {
        Self(i128::from(units) * NANO)
    }

    /// An amount of thousandths.
    pub fn from_millis(millis: i64) -> Self {
        Self(i128::from(millis) * (NANO / 1000))
    }

    /// The amount in whole units, if it is whole.
    pub fn units(self) -> Option<i64> {
        if self.0 % NANO == 0 { i64::try_from(self.0 / NANO).ok() } else { None }
    }

    /// Whether it is nothing at all.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::Sub for Amount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The factor a suffix stands for: a binary multiplier and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            (1, exponent.parse::<i32>().ok()?.clamp(-400, 400))
        }
    })
}

fn ceil(value: i128, unit: i128) -> i128 {
    let quotient = value / unit;
    if value > 0 && value % unit != 0 { quotient + 1 } else { quotient }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value > 0 { i64::MAX } else { i64::MIN })
}

#[cfg(test)]
mod tests {
    use super::Amount;

    fn check(text: &str, value: i64, milli: i64) {
        let amount = Amount::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((amount.value(), amount.milli_value()), (value, milli), "{text}");
    }

    #[test]
    fn rounds_up_as_upstream_does() {
        check("0.5m", 1, 1);
        check("100m", 1, 100);
        check("1500m", 2, 1500);
        check("2Gi", 2 << 30, (2 << 30) * 1000);
        check("1e3", 1000, 1_000_000);
        check("1.5Ki", 1536, 1_536_000);
        check("0", 0, 0);
        check("-1", -1, -1000);
        check("9223372036854775807", i64::MAX, i64::MAX);
        check("100E", i64::MAX, i64::MAX);
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "m", "1x", "1.2.3", "abc", "1 Gi", "e3"] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
    }
}
