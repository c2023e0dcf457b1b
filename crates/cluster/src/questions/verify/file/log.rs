//! Whether a member's database and its write-ahead log agree.
//!
//! etcd v3.7.3, `server/verify/verify.go` (`validateConsistentIndex`): the last entry applied to the database is not before the last raft snapshot, and not
//! after the last entry that the log knows to be committed. `server/storage/backend.go` (`RecoverSnapshotBackend`): a database that is behind the snapshot
//! must be replaced by a file of the snapshot, without which etcd does not start. Since etcd 3.6 there is no store of the old API, and a log that writes to
//! it behind its last snapshot keeps a member from starting (etcd issue 21849).

use ketcd_store::LogState;

use super::super::finding::{Finding, FindingKind, Weight};
use super::super::part::Part;

/// Returns where they disagree.
pub(in super::super) fn check(state: LogState, old_api_writes: usize) -> Part {
    let mut part = Part::default();
    if old_api_writes > 0 {
        let says = format!("the log has {old_api_writes} writes of etcd's old API: etcd 3.6 and later do not start on it");
        part.findings.push(Finding::new(FindingKind::Log, Weight::Medium, says));
    }
    let LogState { first, last, commit, snapshot, applied, .. } = state;
    let evidence = |finding: Finding| {
        finding
            .because(format!("the log has entries {first} to {last}"))
            .because(format!("entries up to {commit} are known to be committed"))
    };
    let Some(applied) = applied else {
        part.not_checked.push("whether database and log agree: there is no database".to_owned());
        return part;
    };
    if applied < snapshot {
        let says =
            format!("the database ends with entry {applied}, before the raft snapshot of entry {snapshot}: etcd does not start on it");
        part.findings.push(evidence(Finding::new(FindingKind::Log, Weight::High, says)));
    }
    if applied > commit {
        // A member that was killed may have written the database before the log's state.
        let says = format!("the database has entry {applied}, which the log does not know to be committed");
        part.findings.push(evidence(Finding::new(FindingKind::Log, Weight::Medium, says)));
    }
    if (snapshot..=commit).contains(&applied) {
        part.checked.push(format!("database and log agree (entry {applied} applied, {commit} committed)"));
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(applied: u64, commit: u64, snapshot: u64) -> Part {
        let mut state = LogState::default();
        (state.first, state.last, state.commit, state.snapshot, state.applied) = (1, 100, commit, snapshot, Some(applied));
        check(state, 0)
    }

    #[test]
    fn etcds_own_invariants_hold() {
        assert!(said(90, 100, 0).findings.is_empty() && said(90, 90, 90).findings.is_empty());
        assert!(said(80, 100, 90).findings[0].is_fatal());
        let ahead = said(100, 90, 0);
        assert!(!ahead.findings[0].is_fatal() && ahead.checked.is_empty(), "{ahead:?}");
        assert_eq!(check(LogState::default(), 2).findings.len(), 1);
    }
}
