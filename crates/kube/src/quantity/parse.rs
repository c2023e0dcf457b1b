//! Reads a quantity as upstream does, with its roundings and its cap.

use super::{BINARY_SUFFIXES, DECIMAL_SUFFIXES, Format, MAX_SHORT_DIGITS, NANO_EXPONENT, Quantity, pow10};

/// Returns the quantity, and whether upstream would keep the text as its canonical form.
pub(super) fn parse(text: &str) -> Result<(Quantity, bool), &'static str> {
    const QUANTITY_FORM: &str =
        "it must be digits, perhaps with a point, and one of the suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent like e3";
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_negative = text.starts_with('-');
    if text.is_empty() {
        return Err(QUANTITY_FORM);
    }
    let number = unsigned.trim_start_matches('0');
    let digits_end = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = number.split_at(digits_end(number));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits_end(rest)),
        None => ("", rest),
    };
    let (exponent, format) = read_suffix(suffix).ok_or(QUANTITY_FORM)?;
    let digits = whole.len().max(1) + fraction.len();
    if format == Format::BinarySI {
        if let Some(parsed) = short_binary(whole, fraction, exponent) {
            let keep = parsed.1 && text != "0";
            return Ok((signed(parsed.0, is_negative), keep));
        }
    } else if let Some(scale) =
        exponent.checked_sub(fraction.len() as i32).filter(|&scale| digits <= MAX_SHORT_DIGITS && scale >= NANO_EXPONENT)
    {
        let value = number_of(whole, fraction).unwrap_or(0);
        let shifted_zero = whole.is_empty();
        let keep = text == "0" || (scale % 3 == 0 && !format!("{whole}{fraction}").ends_with("000") && !shifted_zero);
        return Ok((signed(Quantity { value, scale, format, is_big: false }, is_negative), keep));
    }
    // Upstream's decimal needs a digit.
    if unsigned.find(|c: char| c.is_ascii_digit()).is_none_or(|first| unsigned[..first].contains(|c: char| c != '.')) {
        return Err(QUANTITY_FORM);
    }
    let quantity = long(whole, fraction, exponent, format).ok_or("it has more digits than can be held exactly")?;
    Ok((signed(quantity, is_negative), false))
}

fn signed(quantity: Quantity, is_negative: bool) -> Quantity {
    if is_negative { Quantity { value: -quantity.value, ..quantity } } else { quantity }
}

fn number_of(whole: &str, fraction: &str) -> Option<i128> {
    let digits = whole.bytes().chain(fraction.bytes());
    digits.into_iter().try_fold(0i128, |value, digit| value.checked_mul(10)?.checked_add((digit - b'0').into()))
}

/// Returns the power (of ten, for `BinarySI` of two) and the family of a suffix.
fn read_suffix(suffix: &str) -> Option<(i32, Format)> {
    if let Some((_, exponent)) = DECIMAL_SUFFIXES.iter().find(|(own, _)| *own == suffix) {
        return Some((*exponent, Format::DecimalSI));
    }
    if let Some(index) = BINARY_SUFFIXES.iter().position(|own| *own == suffix) {
        return Some((10 * (index as i32 + 1), Format::BinarySI));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i64 = exponent.parse().ok()?;
    Some((i32::try_from(exponent).ok()?, Format::DecimalExponent))
}

/// Reads whole numbers with a binary suffix that certainly fit into 64 bits; also returns whether the text is kept.
fn short_binary(whole: &str, fraction: &str, exponent: i32) -> Option<(Quantity, bool)> {
    let digits = whole.len().max(1) as i32;
    let digits_left = 15 - digits - (exponent * 3 / 10) - 1;
    if !fraction.is_empty() || digits_left < 0 {
        return None;
    }
    let number = number_of(whole, "").unwrap_or(0);
    let value = number.checked_mul(1 << exponent).filter(|&value| i64::try_from(value).is_ok())?;
    Some((Quantity { value, scale: 0, format: Format::BinarySI, is_big: false }, number & 7 != 0))
}

/// Every other number: rounded up to nanos, and capped at 2^63 − 1 where its suffix is binary.
fn long(whole: &str, fraction: &str, exponent: i32, format: Format) -> Option<Quantity> {
    let fraction = fraction.trim_end_matches('0');
    let (mut scale, binary) = if format == Format::BinarySI { (0, exponent) } else { (exponent, 0) };
    // Digits beyond what nanos can show only say whether to round up.
    let kept = i64::from(scale).saturating_sub(i64::from(NANO_EXPONENT)).saturating_add(i64::from(binary));
    let (fraction, below) = split_beyond(fraction, kept);
    let value = number_of(whole, fraction)?.checked_mul(1 << binary);
    let Some(mut value) = value else {
        return (format == Format::BinarySI).then_some(Quantity { value: i64::MAX.into(), scale: 0, format, is_big: false });
    };
    scale = scale.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    if scale < NANO_EXPONENT {
        let divisor = pow10(NANO_EXPONENT - scale);
        let rest = below || divisor.is_none_or(|divisor| value % divisor != 0);
        value = divisor.map_or(0, |divisor| value / divisor) + i128::from(rest && (value != 0 || below));
        scale = NANO_EXPONENT;
    } else {
        value += i128::from(below);
    }
    let quantity = Quantity { value, scale, format, is_big: true };
    let limit = Quantity { value: i64::MAX.into(), scale: 0, format, is_big: false };
    Some(match format {
        Format::BinarySI if quantity > limit => limit,
        Format::BinarySI if quantity < Quantity::new(1, format) && value > 0 => Quantity { format: Format::DecimalSI, ..quantity },
        _ => quantity,
    })
}

/// Splits off the digits after the first `kept` and says whether any of them counts.
fn split_beyond(digits: &str, kept: i64) -> (&str, bool) {
    let kept = usize::try_from(kept.max(0)).unwrap_or(usize::MAX);
    match digits.get(kept..) {
        Some(beyond) => (&digits[..kept], beyond.bytes().any(|digit| digit != b'0')),
        None => (digits, false),
    }
}
