//! Which of several members or backups is the best to restore from (etcd issue 20217).

use ketcd_store::LogState;

use super::verification::{Verdict, Verification};

/// Sorts what can be restored before what cannot, and in each the newest first: by the term and the entries of their logs, where all have one, else by
/// revision. What has fewer findings is before what has more.
pub fn rank(all: &mut [Verification]) {
    let have_logs = all.iter().all(|one| one.log.is_some());
    all.sort_by(|one, other| {
        let newest = |of: &Verification| (if have_logs { reach(of.log.as_ref()) } else { (0, 0) }, of.revision());
        let badness = |of: &Verification| (of.verdict(), of.findings.len());
        (badness(one).0 == Verdict::Bad)
            .cmp(&(badness(other).0 == Verdict::Bad))
            .then_with(|| newest(other).cmp(&newest(one)))
            .then_with(|| badness(one).cmp(&badness(other)))
            .then_with(|| one.name.cmp(&other.name))
    });
}

/// The term and the last entry that counts.
fn reach(log: Option<&LogState>) -> (u64, u64) {
    log.map_or((0, 0), |log| (log.term, log.commit.max(log.applied.unwrap_or(0))))
}

/// Returns what a source lacks of the best one, in words; empty where it lacks nothing.
pub fn lacks(best: &Verification, other: &Verification) -> String {
    let behind = best.revision().0 - other.revision().0;
    let entries = reach(best.log.as_ref()).1.saturating_sub(reach(other.log.as_ref()).1);
    let is_of_another = best.cluster_id.is_some() && other.cluster_id.is_some() && best.cluster_id != other.cluster_id;
    match (is_of_another, behind, entries) {
        (true, ..) => "of another cluster".to_owned(),
        (false, 1, _) => "lacks the last revision".to_owned(),
        (false, 2.., _) => format!("lacks the last {behind} revisions"),
        (false, _, 1..) if best.log.is_some() && other.log.is_some() => format!("lacks the last {entries} entries of the log"),
        _ => String::new(),
    }
}
