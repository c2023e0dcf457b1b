//! Whether a member's database and its write-ahead log agree.
//!
//! etcd v3.7.3, `server/verify/verify.go` (`validateConsistentIndex`): the last entry applied to the database is not before the last raft snapshot, and not
//! after the last entry that the log knows to be committed. `server/storage/backend.go` (`RecoverSnapshotBackend`): a database that is behind the snapshot
//! must be replaced by a file of the snapshot, without which etcd does not start.

use ketcd_store::LogState;

use super::super::finding::{Finding, FindingKind, Weight};
use super::super::part::Part;

/// Returns where they disagree.
pub(in super::super) fn check(state: LogState) -> Part {
    let mut part = Part::default();
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
    if part.findings.is_empty() {
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
        check(state)
    }

    #[test]
    fn etcds_own_invariants_hold() {
        assert!(said(90, 100, 0).findings.is_empty() && said(90, 90, 90).findings.is_empty());
        assert!(said(80, 100, 90).findings[0].is_fatal());
        let ahead = said(100, 90, 0);
        assert!(!ahead.findings[0].is_fatal() && ahead.checked.is_empty(), "{ahead:?}");
    }
}
