//! Leader election and the connection to the API server: they place no pod, yet a scheduler does not start where they are wrong.
//! Upstream: `component-base/config/validation/validation.go`, its defaults in `component-base/config/v1alpha1/defaults.go`.

use crate::kube::go_duration;
use crate::scheduler::Release;

use super::document::Document;

const SECOND: i64 = 1_000_000_000;
const UNITS: [(&str, i64); 8] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000), ("s", SECOND), ("m", 60 * SECOND), ("h", 3_600 * SECOND)];

/// What is wrong with `clientConnection` and `leaderElection`.
pub fn check(document: &Document<'_>, release: Release) -> Vec<String> {
    let mut wrong = Vec::new();
    let burst = document.field("clientConnection").field("burst");
    wrong.extend(burst.whole().filter(|burst| *burst < 0).map(|value| burst.invalid(value, "must be non-negative")));
    let election = document.field("leaderElection");
    if election.field("leaderElect").truth() == Some(false) {
        return wrong;
    }
    let mut read = |name: &str, default: i64| {
        let field = election.field(name);
        let value = match field.text() {
            "" => 0,
            text => nanoseconds(text).unwrap_or_else(|| {
                wrong.push(format!("{}: time: invalid duration {text:?}", field.path()));
                0
            }),
        };
        // Zero stands for the default.
        let value = if value == 0 { default } else { value };
        if value < 0 {
            wrong.push(field.invalid(go_duration(value), "must be greater than zero"));
        }
        value
    };
    let (lease, renew) = (read("leaseDuration", 15 * SECOND), read("renewDeadline", 10 * SECOND));
    read("retryPeriod", 2 * SECOND);
    if lease < renew {
        let lease = election.field("leaseDuration");
        // Upstream shows the deadline under the lease's name.
        wrong.push(lease.invalid(go_duration(renew), "LeaseDuration must be greater than RenewDeadline"));
    }
    let lock = election.field("resourceLock");
    if release.0 >= 27 && !matches!(lock.text(), "" | "leases") {
        wrong.push(lock.invalid(format!("{:?}", lock.text()), "resourceLock value must be \"leases\""));
    }
    wrong
}

/// Go's `time.ParseDuration`.
fn nanoseconds(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(tail.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &tail[..unit_end])?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let part: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
        if number == "." || number.is_empty() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as Go cuts it")]
        let below = (part * *unit as f64) as i64;
        total = total.checked_add(whole.checked_mul(*unit)?.checked_add(below)?)?;
        rest = &tail[unit_end..];
    }
    Some(sign * total)
}

#[cfg(test)]
mod tests {
    use super::{SECOND, nanoseconds};

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let table = [
            ("15s", Some(15 * SECOND)),
            ("-1m30s", Some(-90 * SECOND)),
            ("1.5s", Some(SECOND * 3 / 2)),
            ("0", Some(0)),
            (".5s", Some(SECOND / 2)),
        ];
        for (text, want) in table.into_iter().chain(["", "-", "5", "s", ".s", "1d", "1s2"].map(|bad| (bad, None))) {
            assert_eq!(nanoseconds(text), want, "{text:?}");
        }
    }
}
