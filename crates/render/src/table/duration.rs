//! Durations for people, as k8s.io/apimachinery pkg/util/duration writes them: two or three significant figures.

use jiff::{SignedDuration, Timestamp};

/// Returns a duration as kubectl shows ages: `45s`, `3m12s`, `25m`, `5h3m`, `30h`, `3d4h`, `400d`, `2y30d`.
/// More than a second in the future is `<invalid>`.
pub fn human_duration(duration: SignedDuration) -> String {
    let with = |whole: i64, unit: char, rest: i64, rest_unit: char| {
        if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{rest_unit}") }
    };
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => with(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => with(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => with(hours / 24, 'd', hours % 24, 'h'),
        _ if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        _ if hours < 24 * 365 * 8 => with(hours / 24 / 365, 'y', hours / 24 % 365, 'd'),
        _ => format!("{}y", hours / 24 / 365),
    }
}

/// Returns how long before a moment a time was, as kubectl shows ages; `<unknown>` where the moment is not known.
pub fn age(now: Option<Timestamp>, begin: Timestamp) -> String {
    now.map_or_else(|| "<unknown>".to_owned(), |now| human_duration(now.duration_since(begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_has_kubectls_figures() {
        let (minute, hour, day) = (60, 3600, 86400);
        for (seconds, wanted) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (9 * minute + 59, "9m59s"),
            (10 * minute + 59, "10m"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (7 * hour + 5 * minute, "7h5m"),
            (8 * hour + 59 * minute, "8h"),
            (47 * hour, "47h"),
            (48 * hour, "2d"),
            (7 * day + 3 * hour, "7d3h"),
            (8 * day + 3 * hour, "8d"),
            (729 * day, "729d"),
            (730 * day, "2y"),
            (731 * day, "2y1d"),
            (8 * 365 * day, "8y"),
        ] {
            assert_eq!(human_duration(SignedDuration::from_secs(seconds)), wanted, "{seconds}");
        }
        assert_eq!(human_duration(SignedDuration::new(-1, -900_000_000)), "0s");
    }
}
