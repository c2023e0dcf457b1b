//! kine's databases that nobody compacts.
//!
//! kine 0.14, pkg/logstructured/sqllog/sql.go, `compactor` and `safeCompactRev`: every five minutes it compacts up to what was the newest revision five minutes
//! ago, but never the newest 1,000 (pkg/app: `--compact-interval`, `--compact-min-retain`). The table keeps everything since. Since kine 0.16.1 the interval
//! is off unless it is given, and the API server's own compaction, as often, is carried out instead (`SQLLog.Compact`), with the same 1,000.

use jiff::SignedDuration;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_store::{Revision, SourceKind};

use super::facts::Facts;
use super::rule_finding::RuleFinding;
use crate::error::Result;

/// The newest revisions that are always kept.
const MIN_REVISIONS_KEPT: i64 = 1_000;
/// How long after enough newer ones were written a revision has been compacted, with room for a few attempts that fail.
const MAX_COMPACTION_DELAY: SignedDuration = SignedDuration::from_mins(30);
/// Where so little was written that nothing has to be compacted, it is worth a word after so long.
const IDLE_COMPACTION_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let (cluster, Some(now)) = (facts.cluster, facts.now) else { return Ok(Vec::new()) };
    let status = cluster.source.status().await?;
    let is_kine = status.kind == SourceKind::Kine && status.parts.iter().all(|part| part.kind == SourceKind::Kine);
    let (span, at) = (cluster.source.span().await?, cluster.revision().await?);
    // What was compacted by an earlier revision is no longer known; nor what ever was, where kine's record of it may be what is damaged.
    let is_unknown = span.compacted.is_none() && !cluster.source.damage().is_empty();
    if !is_kine || is_unknown || at != span.newest {
        return Ok(Vec::new());
    }
    let compacted = span.compacted.map_or(0, |compacted| compacted.0);
    let since = at.0 - compacted;
    // The first revision that the last compaction kept.
    let oldest = span.oldest.max(Revision(compacted + 1));
    let counted_from = counted_from(compacted, since).unwrap_or(oldest);
    let clock = cluster.clock_around(&[oldest, counted_from], &[]).await?;
    // The first rows of all, kine's own among them, hold no time: what lasted since is counted from the first that has one.
    let Some((first, _)) = clock.dated_span() else { return Ok(Vec::new()) };
    let (Some(dated), Some(from)) = (clock.date(oldest.max(first)), clock.date(counted_from.max(first))) else { return Ok(Vec::new()) };
    let Some(kind) = stalled(since, now.duration_since(from.time)) else { return Ok(Vec::new()) };
    let trouble = Trouble { since: Some(dated.time), numbers: Some((compacted, since)), ..Trouble::new(kind) };
    Ok(vec![RuleFinding::new(Subject { kind: "Etcd".to_owned(), ..Subject::default() }, trouble)])
}

/// The revision from which on the first one after the last compaction could be compacted: so many newer ones are there. `None` where they are not; where
/// little is written, that is long after it.
fn counted_from(compacted: i64, since: i64) -> Option<Revision> {
    (since > MIN_REVISIONS_KEPT).then_some(Revision(compacted + 1 + MIN_REVISIONS_KEPT))
}

/// Whether nothing was compacted for too long, where so many revisions were written since, and the first of them could be compacted so long ago; where
/// they are too few for that, it was written so long ago.
fn stalled(since: i64, lasted: SignedDuration) -> Option<TroubleKind> {
    match since > MIN_REVISIONS_KEPT {
        true => (lasted > MAX_COMPACTION_DELAY).then_some(TroubleKind::CompactionStalled),
        false => (lasted > IDLE_COMPACTION_INTERVAL).then_some(TroubleKind::CompactionAwaited),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_anyway_stalls_nothing() {
        let check = |since, minutes| stalled(since, SignedDuration::from_mins(minutes));
        assert_eq!([check(5_000, 10), check(5_000, 31)], [None, Some(TroubleKind::CompactionStalled)]);
        assert_eq!([check(900, 31), check(900, 978)], [None, Some(TroubleKind::CompactionAwaited)]);
        // The first of 1,040 revisions could be compacted when the 1,001st was written.
        assert_eq!([counted_from(9_000, 1_040), counted_from(9_000, 1_000)], [Some(Revision(10_001)), None]);
    }
}
