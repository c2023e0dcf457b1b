//! Whether a member's database and its write-ahead log agree.
//!
//! etcd v3.7.3, `server/verify/verify.go` (`validateConsistentIndex`): the last entry applied to the database is not before the last raft snapshot, and not
//! after the last entry that the log knows to be committed, unless the member was killed in between: entries are handed over to be applied before the log's
//! state is written (`server/etcdserver/raft.go`, `start`), and the member starts on both. `server/storage/backend.go` (`RecoverSnapshotBackend`): a
//! database that is behind the snapshot must be replaced by a file of the snapshot, without which etcd does not start. Since etcd 3.6 there is no store of
//! the old API, and a log that writes to it behind its last snapshot keeps a member from starting (etcd issue 21849).

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
    if applied > last {
        let says = format!("the database has entry {applied}, behind the end of the log");
        part.findings.push(evidence(Finding::new(FindingKind::Log, Weight::Medium, says)));
    } else if applied > commit {
        let says =
            format!("the database has entry {applied}, which the log does not know to be committed yet: the member was killed in between");
        part.findings.push(evidence(Finding::new(FindingKind::Log, Weight::Low, says)));
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
        let ahead = said(101, 90, 0);
        assert!(!ahead.findings[0].is_fatal() && !ahead.findings[0].is_remark() && ahead.checked.is_empty(), "{ahead:?}");
        assert_eq!(check(LogState::default(), 2).findings.len(), 1);
    }

    /// What `k136-live` shows, of which etcd itself recovered.
    #[test]
    fn a_member_that_was_killed_may_have_applied_what_it_had_not_written_down() {
        let killed = said(100, 99, 0);
        assert!(killed.findings[0].is_remark() && killed.checked.is_empty(), "{killed:?}");
    }
}
