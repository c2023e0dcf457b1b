//! How much of a recording is kept, as `--keep` says it.

use std::time::Duration;

use ketcd_store::recording::Keep;

use crate::cli::input::size::size;

/// Reads an age such as `30d`.
///
/// # Errors
/// The text is not an age.
pub(in crate::cli) fn age(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("invalid age {text:?}: expected a duration such as 30d, 12h, 90m or 60s");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).filter(|&seconds| seconds > 0 && seconds < 1 << 40).map(Duration::from_secs).ok_or_else(wrong)
}

/// Reads an age or a size: `30d`, `20GB`.
///
/// # Errors
/// The text is neither.
pub(in crate::cli) fn keep(text: &str) -> std::result::Result<Keep, String> {
    if let Ok(age) = age(text) {
        return Ok(Keep::Age(age));
    }
    let bytes = size(text.strip_suffix('B').unwrap_or(text));
    bytes.map(Keep::Bytes).map_err(|_| format!("invalid value {text:?}: expected an age such as 30d or a size such as 20GB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_keep_is_an_age_or_a_size() {
        let days = |days: u64| Ok(Keep::Age(Duration::from_secs(days * 24 * 3600)));
        assert_eq!((keep("30d"), keep("2w"), keep("24h")), (days(30), days(14), days(1)));
        assert_eq!(
            (keep("20GB"), keep("20G"), keep("1Gi")),
            (Ok(Keep::Bytes(20_000_000_000)), Ok(Keep::Bytes(20_000_000_000)), Ok(Keep::Bytes(1 << 30)))
        );
        assert!(["", "d", "0d", "-1d", "x", "1y", "0"].iter().all(|text| keep(text).is_err()));
    }
}
