//! By how much the revisions of a restored etcd are raised.
//!
//! etcd v3.7.3, `etcdutl/etcdutl/snapshot_command.go`: `--bump-revision` is an amount that is added to the newest revision of the file, and needs
//! `--mark-compacted`, so that a watcher that asks for an older revision is told that it is compacted and lists anew (etcd PR 16029).

use jiff::Timestamp;

use crate::numbers::grouped;

/// What is added to the revisions that were seen at least: others may have been written behind the newest state that is left, and a watcher that saw one
/// of them would see revisions go back. A thousand writes a second make as many in a quarter of an hour.
const MIN_MARGIN_REVISIONS: i64 = 1_000_000;

/// How many times as many revisions as the time since the newest state would have made are added.
const MARGIN_FACTOR: i64 = 2;

/// What is added where no newer state is left: etcd's own guide to recovery (etcd.io, v3.6, `op-guide/recovery`) proposes it.
pub(super) const BUMP_WITHOUT_NEWER: i64 = 1_000_000_000;

/// By how much revisions are raised, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bump {
    /// How many revisions the backup lacks of the newest state.
    pub lost: i64,
    /// What is added to that.
    pub margin: i64,
    /// The sum, in full thousands.
    pub by: i64,
}

impl Bump {
    /// The amount that takes a backup behind a newest revision. `written` says when both were written, `now` when the question is asked: as fast as
    /// writes came between them, more may have come since.
    pub(super) fn of(backup: i64, newest: i64, written: Option<(Timestamp, Timestamp)>, now: Option<Timestamp>) -> Self {
        const STEP_REVISIONS: i64 = 1_000;
        let lost = newest.saturating_sub(backup).max(0);
        let since = written.zip(now).map_or(0, |((first, last), now)| {
            let (between, silent) = (last.as_second() - first.as_second(), now.as_second() - last.as_second());
            if between <= 0 || silent <= 0 { 0 } else { lost.saturating_mul(silent) / between }
        });
        let margin = since.saturating_mul(MARGIN_FACTOR).max(MIN_MARGIN_REVISIONS);
        let by = lost.saturating_add(margin).saturating_add(STEP_REVISIONS - 1) / STEP_REVISIONS * STEP_REVISIONS;
        Self { lost, margin, by }
    }

    pub(super) fn says(self) -> String {
        format!(
            "revisions are raised by {}: {} that the backup lacks, and {} that may have been written since",
            grouped(self.by),
            grouped(self.lost),
            grouped(self.by - self.lost)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_amount_is_what_is_lost_and_a_margin() {
        assert_eq!(Bump::of(441_846, 512_003, None, None), Bump { lost: 70_157, margin: 1_000_000, by: 1_071_000 });
        assert_eq!(Bump::of(500, 400, None, None).by, 1_000_000);
    }

    #[test]
    fn a_long_silence_of_a_busy_cluster_makes_the_margin_larger() {
        // A thousand a second for an hour, and nobody knows what came in the hour after that.
        let written = Some((at(0), at(3_600)));
        let bump = Bump::of(0, 3_600_000, written, Some(at(7_200)));
        assert_eq!((bump.lost, bump.margin), (3_600_000, 7_200_000));
        assert_eq!(Bump::of(0, 3_600_000, written, Some(at(3_600))).margin, 1_000_000);
    }
}
