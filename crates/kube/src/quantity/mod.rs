//! Quantities: `1500m`, `2Gi`, `1e3`, exactly, as k8s.io/apimachinery pkg/api/resource (v0.36) reads and writes them.

mod parse;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use parse::parse;

/// An exact decimal number and the family of suffixes it is written with.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The number is `value` × 10^`scale`.
    value: i128,
    scale: i32,
    format: Format,
    /// Whether upstream holds it as an arbitrary-precision decimal, which overflows in another way.
    is_big: bool,
}

/// The family of suffixes a quantity is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `12M`: n u m k M G T P E.
    DecimalSI,
    /// `12Mi`: Ki Mi Gi Ti Pi Ei.
    BinarySI,
    /// `12e6`.
    DecimalExponent,
}

/// Why a text is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid quantity \"{text}\": {problem}")]
pub struct QuantityError {
    text: String,
    problem: &'static str,
}

const NANO_EXPONENT: i32 = -9;
/// As many digits as always fit into upstream's 64-bit form.
const MAX_SHORT_DIGITS: usize = 18;

impl Quantity {
    /// Returns the quantity zero.
    pub const ZERO: Self = Self { value: 0, scale: 0, format: Format::DecimalSI, is_big: false };

    /// Returns the quantity `value`.
    pub fn new(value: i64, format: Format) -> Self {
        Self { value: value.into(), scale: 0, format, is_big: false }
    }

    /// Returns the canonical text of a quantity. Upstream keeps a text that it takes for canonical.
    ///
    /// # Errors
    /// `text` is not a quantity.
    pub fn canonical(text: &str) -> Result<String, QuantityError> {
        let (quantity, keep) = parse(text).map_err(|problem| error(text, problem))?;
        Ok(if keep { text.to_owned() } else { quantity.to_string() })
    }

    /// Returns the suffixes it is written with.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the whole units, a fraction rounded up; 0 where they do not fit, as upstream's `Value`.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// Returns the thousandths, a fraction of one rounded up; 0 where they do not fit, as upstream's `MilliValue`.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    /// Returns the value in units of 10^`scale`, rounded up, as upstream's `ScaledValue`, which rounds negative numbers away from
    /// zero or up and wraps or gives 0 where the result needs more than 64 bits, depending on how it holds the number.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        if self.is_big && self.value < 0 {
            let Some(nanos) = self.at_scale(NANO_EXPONENT) else { return 0 };
            let divisor = pow10(scale - NANO_EXPONENT).and_then(|divisor| i64::try_from(divisor).ok()).unwrap_or(i64::MAX);
            let nanos = nanos as i64;
            return nanos / divisor + i64::from(nanos % divisor != 0);
        }
        if self.scale >= scale {
            let by = self.scale - scale;
            let Some(exact) = pow10(by).and_then(|factor| self.value.checked_mul(factor)) else { return 0 };
            let wraps = self.is_big || matches!(by, 1 | 2 | 3 | 6 | 9);
            return if wraps { exact as i64 } else { i64::try_from(exact).unwrap_or(0) };
        }
        let Some(divisor) = pow10(scale - self.scale) else { return self.value.signum() as i64 };
        (self.value / divisor + (self.value % divisor).signum()) as i64
    }

    /// Returns the billionths; `None` where they need more than 38 digits.
    pub fn nanos(&self) -> Option<i128> {
        self.at_scale(NANO_EXPONENT)
    }

    /// Returns -1, 0 or 1.
    pub fn signum(&self) -> i128 {
        self.value.signum()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.value == 0
    }

    /// Returns the sum, with the format of this one unless it is zero; `None` where it needs more than 38 digits.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let format = if self.is_zero() { other.format } else { self.format };
        let is_big = self.is_big || other.is_big;
        if self.is_zero() || other.is_zero() {
            let sum = if self.is_zero() { other } else { self };
            return Some(Self { format, is_big, ..*sum });
        }
        let scale = self.scale.min(other.scale);
        let value = self.at_scale(scale)?.checked_add(other.at_scale(scale)?)?;
        Some(Self { value, scale, format, is_big: is_big || i64::try_from(value).is_err() })
    }

    /// Returns the difference, as [`Quantity::checked_add`].
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        self.checked_add(&Self { value: -other.value, ..*other })
    }

    fn at_scale(&self, scale: i32) -> Option<i128> {
        self.value.checked_mul(pow10(self.scale - scale)?)
    }

    /// Writes the decimal forms: the exponent is the greatest multiple of three that leaves no fraction.
    fn write_decimal(&self, f: &mut fmt::Formatter<'_>, exponential: bool) -> fmt::Result {
        let (mut value, mut exponent) = (self.value, self.scale);
        while value % 10 == 0 && value != 0 {
            value /= 10;
            exponent += 1;
        }
        let greatest = if exponential { i32::MAX } else { 18 };
        while exponent % 3 != 0 || exponent > greatest {
            value = value.checked_mul(10).ok_or(fmt::Error)?;
            exponent -= 1;
        }
        match exponent {
            0 => write!(f, "{value}"),
            _ if exponential => write!(f, "{value}e{exponent}"),
            _ => write!(f, "{value}{}", DECIMAL_SUFFIXES.iter().find(|(_, own)| *own == exponent).map_or("", |(suffix, _)| suffix)),
        }
    }

    fn write_binary(f: &mut fmt::Formatter<'_>, mut value: i128) -> fmt::Result {
        let mut times = 0;
        while value % 1024 == 0 && times < BINARY_SUFFIXES.len() {
            value /= 1024;
            times += 1;
        }
        write!(f, "{value}{}", if times == 0 { "" } else { BINARY_SUFFIXES[times - 1] })
    }
}

/// The canonical form: no fraction, the greatest suffix that loses nothing.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.format == Format::BinarySI {
            // Small and fractional numbers are written decimally, which loses nothing.
            let whole = match self.scale {
                0.. => self.at_scale(0),
                _ => pow10(-self.scale).filter(|divisor| self.value % divisor == 0).map(|divisor| self.value / divisor),
            };
            if let Some(whole) = whole.filter(|whole| whole.unsigned_abs() >= 1024) {
                return Self::write_binary(f, whole);
            }
        }
        self.write_decimal(f, self.format == Format::DecimalExponent)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text).map(|(quantity, _)| quantity).map_err(|problem| error(text, problem))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.min(other.scale);
        match (self.at_scale(scale), other.at_scale(scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // Only the one of the greater scale can overflow, and then it is the greater in magnitude.
            (None, _) => self.value.cmp(&0),
            (_, None) => 0.cmp(&other.value),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Equal in number, whatever the format.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn error(text: &str, problem: &'static str) -> QuantityError {
    let end = text.char_indices().nth(60).map_or(text.len(), |(index, _)| index);
    QuantityError { text: text[..end].to_owned(), problem }
}

fn pow10(exponent: i32) -> Option<i128> {
    10i128.checked_pow(u32::try_from(exponent).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text, canonical text, value and milli-value as k8s.io/apimachinery v0.36.0 computes them.
    #[rustfmt::skip]
    const QUANTITY_CASES: &[(&str, &str, i64, i64)] = &[
        ("0", "0", 0, 0),
        ("+", "0", 0, 0),
        ("-", "0", 0, 0),
        (".", "0", 0, 0),
        ("Ki", "0", 0, 0),
        ("-.5", "-500m", -1, -500),
        ("+5", "+5", 5, 5000),
        ("005", "005", 5, 5000),
        ("1.500", "1.500", 2, 1500),
        (".5", "500m", 1, 500),
        ("5.", "5.", 5, 5000),
        ("0.5Gi", "512Mi", 536870912, 536870912000),
        ("1000Ki", "1000Ki", 1024000, 1024000000),
        ("1025Ki", "1025Ki", 1049600, 1049600000),
        ("1.5", "1500m", 2, 1500),
        ("0.1m", "100u", 1, 1),
        ("1n", "1n", 1, 1),
        ("0.1n", "1n", 1, 1),
        ("1e30", "1e30", 0, 0),
        ("9223372036854775807", "9223372036854775807", 9223372036854775807, -1000),
        ("9223372036854775808", "9223372036854775808", -9223372036854775808, 0),
        ("9999999999999999999", "9999999999999999999", -8446744073709551617, 1864712049423023128),
        ("123456789012345678901234567890", "123456789012345678901234567890", -4362896299872285998, 8982045596877734992),
        ("16Ei", "9223372036854775807", 9223372036854775807, -1000),
        ("7Ei", "7Ei", 8070450532247928832, -9223372036854775808),
        ("8Ei", "9223372036854775807", 9223372036854775807, -1000),
        ("0.00000000001", "1n", 1, 1),
        ("1e-100", "1e-9", 1, 1),
        ("1.25Ki", "1280", 1280, 1280000),
        ("1.0001Ki", "1024102400u", 1025, 1024103),
        ("-1.5Gi", "-1536Mi", -1610612736, -1610612736000),
        ("-1.5", "-1500m", -2, -1500),
        ("0.0", "0", 0, 0),
        ("000", "0", 0, 0),
        ("0Ki", "0", 0, 0),
        ("0.000Gi", "0", 0, 0),
        ("T", "0", 0, 0),
        ("+32.300k", "+32.300k", 32300, 32300000),
        ("600000000.e2", "60e9", 60000000000, 60000000000000),
        ("60000.000002m", "60000.000002m", 61, 60001),
        ("+62377.600e1", "623776", 623776, 623776000),
        ("+E", "0", 0, 0),
        ("+670.900G", "+670.900G", 670900000000, 670900000000000),
        ("-4.e3", "-4.e3", -4000, -4000000),
        ("-.Ti", "0", 0, 0),
        ("-3", "-3", -3, -3000),
        ("5.3003e2", "530030e-3", 531, 530030),
        ("14.05G", "14050M", 14050000000, 14050000000000),
        ("+920000000E-1", "92e6", 92000000, 92000000000),
        (".233P", "233T", 233000000000000, 233000000000000000),
        ("58400.273Mi", "61237124661248m", 61237124662, 61237124661248),
        ("23328.500e-9", "23329e-9", 1, 1),
        ("002.0000Mi", "2Mi", 2097152, 2097152000),
        ("-0075.800Ti", "-83342981385420800m", -591660400, -591660401044),
        ("89000000.u", "89", 89, 89000),
        ("-37038.M", "-37038.M", -37038000000, -37038000000000),
        ("0052Ki", "0052Ki", 53248, 53248000),
        ("70000n", "70u", 1, 1),
        ("2E-1", "200e-3", 1, 200),
        ("+78.698Ki", "80586752m", 80587, 80586752),
        ("+e9", "0", 0, 0),
        (".900Gi", "966367641600m", 966367642, 966367641600),
        ("3000.800e+2", "300080", 300080, 300080000),
        ("1e2", "100", 100, 100000),
        ("0072M", "0072M", 72000000, 72000000000),
        ("0081e3", "0081e3", 81000, 81000000),
        ("1.00004e-9", "2e-9", 1, 1),
        ("+79598.697Ki", "81509065728m", 81509066, 81509065728),
    ];

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn quantities_equal_upstreams_text_and_values() {
        for &(text, canonical, value, milli) in QUANTITY_CASES {
            let found = (Quantity::canonical(text).unwrap(), quantity(text).value(), quantity(text).milli_value());
            assert_eq!(found, (canonical.to_owned(), value, milli), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "1.1.M", "1i", "-3.01i", "1e", "1 Gi", "1gi", "0x10", "1e99999999999", "ä", "--1", "1mi"] {
            let error = text.parse::<Quantity>().unwrap_err().to_string();
            assert!(error.contains(&format!("invalid quantity \"{text}\"")), "{error}");
        }
        assert!("1234567890123456789012345678901234567890".parse::<Quantity>().unwrap_err().to_string().contains("more digits"));
    }

    #[test]
    fn sums_and_comparisons() {
        let sum = |a: &str, b: &str| quantity(a).checked_add(&quantity(b)).unwrap().to_string();
        assert_eq!(sum("1500m", "500m"), "2");
        assert_eq!(sum("0", "1Gi"), "1Gi");
        assert_eq!(sum("1Gi", "512Mi"), "1536Mi");
        assert_eq!(sum("1", "1Ki"), "1025");
        assert_eq!(quantity("1").checked_sub(&quantity("1100m")).unwrap().to_string(), "-100m");
        assert_eq!(quantity("1Ki"), quantity("1024"));
        assert!(quantity("1e30") > quantity("9Ei") && quantity("-1e30") < quantity("1n"));
    }

    proptest! {
        #[test]
        fn parsing_a_quantity_never_panics(text in "[-+]?[0-9.]{0,45}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,11}") {
            if let Ok(parsed) = text.parse::<Quantity>() {
                let (_, _, _) = (parsed.value(), parsed.milli_value(), parsed.cmp(&Quantity::ZERO));
                let _ = parsed.checked_add(&Quantity::new(1, Format::BinarySI));
            }
        }

        #[test]
        fn canonical_text_is_the_same_number(mantissa in -999_999_999i64..999_999_999, suffix in "(|n|u|m|k|M|G|Ki|Mi|Gi|e3|e-3)") {
            let parsed = quantity(&format!("{mantissa}{suffix}"));
            let again = quantity(&parsed.to_string());
            prop_assert_eq!(parsed, again);
            prop_assert_eq!(parsed.to_string(), again.to_string());
        }
    }
}
