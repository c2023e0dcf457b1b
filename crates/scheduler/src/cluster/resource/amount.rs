//! Amounts of a resource: Kubernetes quantities, exact to billionths, added and rounded as the scheduler does.

use ketcd_kube::Quantity;

/// A quantity in billionths of its unit. Finer digits are rounded away from zero, as by apimachinery's `Quantity` when it parses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Amount(i128);

const NANOS_PER_UNIT: i128 = 1_000_000_000;

impl Amount {
    /// Parses a quantity such as `1500m`, `2Gi`, `1e3` or `0.5`; `None` if it is not valid. Amounts larger than an int64 are capped, as upstream caps
    /// them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let quantity: Quantity = text.parse().ok()?;
        let most = i128::from(i64::MAX) * NANOS_PER_UNIT;
        Some(Self(quantity.nanos().map_or(most * quantity.signum(), |nanos| nanos.clamp(-most, most))))
    }

    /// The amount in whole units, rounded up (Go's `Value`).
    pub(crate) fn value(self) -> i64 {
        clamp(ceil(self.0, NANOS_PER_UNIT))
    }

    /// The amount in thousandths, rounded up (Go's `MilliValue`).
    pub(crate) fn milli_value(self) -> i64 {
        clamp(ceil(self.0, NANOS_PER_UNIT / 1000))
    }

    /// An amount of whole units.
    pub(crate) fn from_units(units: i64) -> Self {
        Self(i128::from(units) * NANOS_PER_UNIT)
    }

    pub(crate) fn from_millis(millis: i64) -> Self {
        Self(i128::from(millis) * (NANOS_PER_UNIT / 1000))
    }

    /// The amount in whole units, if it is whole.
    pub(crate) fn units(self) -> Option<i64> {
        if self.0 % NANOS_PER_UNIT == 0 { i64::try_from(self.0 / NANOS_PER_UNIT).ok() } else { None }
    }

    /// Multiplies by `factor`; `None`: the product is finer than billionths, or too large for any resource.
    pub(crate) fn times(self, factor: Self) -> Option<Self> {
        let product = self.0.checked_mul(factor.0)?;
        (product % NANOS_PER_UNIT == 0).then_some(Self(product / NANOS_PER_UNIT))
    }

    /// An approximation as a floating-point number.
    #[allow(clippy::cast_precision_loss, reason = "that is what is asked for")]
    pub(crate) fn approximate(self) -> f64 {
        self.0 as f64 / NANOS_PER_UNIT as f64
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
        check("m", 0, 0);
        check("e3", 0, 0);
        check("-1", -1, -1000);
        check("9223372036854775807", i64::MAX, i64::MAX);
        check("100E", i64::MAX, i64::MAX);
    }

    #[test]
    fn products_are_exact_or_none() {
        let times = |one: &str, other: &str| Amount::parse(one)?.times(Amount::parse(other)?);
        assert_eq!(times("4Gi", "500m"), Amount::parse("2Gi"));
        assert_eq!(times("1n", "500m"), None);
        assert_eq!(times("9E", "9E"), None);
    }

    #[test]
    fn rejects_invalid_text() {
        for text in ["", "1x", "1.2.3", "abc", "1 Gi"] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
    }
}
