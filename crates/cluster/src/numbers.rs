//! Numbers as people read them.

use std::fmt;

/// A whole number with its digits in groups of three: `4,812`.
pub fn grouped(number: impl fmt::Display) -> String {
    let text = number.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", &*text), |digits| ("-", digits));
    let mut grouped = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_in_threes() {
        for (number, wanted) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (70_157, "70,157"), (1_000_000, "1,000,000"), (-12_345, "-12,345")]
        {
            assert_eq!(grouped(number), wanted);
        }
    }
}
