//! The answer of `verify`: one verdict, with what was found, what was looked at, and what was not.

use std::time::Duration;

use jiff::Timestamp;

use ketcd_kube::Release;
use ketcd_store::{HashKv, LogState, Member, Revision, RevisionSpan, SourceKind};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;

/// Whether a source is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing is wrong as far as it was checked; remarks may be there.
    Good,
    /// It can be used, and something in it needs a look.
    Findings,
    /// It cannot be restored as it is.
    Bad,
}

impl Verdict {
    /// Returns the name that machine output has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Findings => "findings",
            Self::Bad => "bad",
        }
    }
}

/// What `verify` says of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The path or the endpoints, as the user gave them.
    pub name: String,
    /// What it is.
    pub kind: SourceKind,
    /// The revisions that can be read.
    pub span: RevisionSpan,
    /// When the newest revision that can be dated was written; `None` where nothing dates it.
    pub written: Option<Timestamp>,
    /// The same of the oldest.
    pub oldest_written: Option<Timestamp>,
    /// How long before the question that was; `None` where either time is not known.
    pub age: Option<Duration>,
    /// Keys that are alive at the newest revision.
    pub keys: u64,
    /// Bytes of the database file.
    pub bytes: u64,
    /// etcd's cluster id, hexadecimal, where known.
    pub cluster_id: Option<String>,
    /// The members of the etcd, as far as the data name them.
    pub members: Vec<Member>,
    /// The API server's release, where its objects show it.
    pub release: Option<Release>,
    /// etcd's hash of all that it holds, where that can be computed.
    pub hash_kv: Option<HashKv>,
    /// How far a member's log reaches.
    pub log: Option<LogState>,
    /// What is wrong, the weightiest first.
    pub findings: Vec<Finding>,
    /// What holds, one phrase per item.
    pub checked: Vec<String>,
    /// What was not checked, one phrase per item.
    pub not_checked: Vec<String>,
}

impl Verification {
    /// The verdict, which follows from the findings.
    pub fn verdict(&self) -> Verdict {
        if self.findings.iter().any(Finding::is_fatal) {
            Verdict::Bad
        } else if self.findings.iter().all(Finding::is_remark) {
            Verdict::Good
        } else {
            Verdict::Findings
        }
    }

    /// What is said of a file of which nothing can be read.
    pub fn unreadable(name: &str, problem: &str) -> Self {
        Self { findings: vec![Finding::new(FindingKind::Damage, Weight::High, problem)], ..Self::nothing_found(name) }
    }

    /// What is said of a source before anything of it was looked at.
    pub(super) fn nothing_found(name: &str) -> Self {
        let nothing = Revision(0);
        Self {
            name: name.to_owned(),
            kind: SourceKind::Db,
            span: RevisionSpan { oldest: nothing, newest: nothing, compacted: None },
            written: None,
            oldest_written: None,
            age: None,
            keys: 0,
            bytes: 0,
            cluster_id: None,
            members: Vec::new(),
            release: None,
            hash_kv: None,
            log: None,
            findings: Vec::new(),
            checked: Vec::new(),
            not_checked: Vec::new(),
        }
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.span.newest
    }

    /// Takes what the checks answered, the weightiest findings first.
    pub(super) fn with(self, part: Part) -> Self {
        let Part { mut findings, checked, not_checked } = part;
        findings.sort_by(|one, other| {
            let order = |finding: &Finding| (finding.is_fatal(), finding.weight, !finding.is_remark());
            order(other).cmp(&order(one)).then_with(|| (one.kind, one.revision).cmp(&(other.kind, other.revision)))
        });
        Self { findings, checked, not_checked, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(findings: &[(FindingKind, Weight)]) -> Verdict {
        let findings = findings.iter().map(|&(kind, weight)| Finding::new(kind, weight, "it is so")).collect();
        Verification::unreadable("a.db", "").with(Part { findings, ..Part::default() }).verdict()
    }

    #[test]
    fn remarks_leave_the_verdict_good() {
        assert_eq!(verdict(&[]), Verdict::Good);
        assert_eq!(verdict(&[(FindingKind::Reference, Weight::Low)]), Verdict::Good);
        assert_eq!(verdict(&[(FindingKind::Tampering, Weight::Low)]), Verdict::Findings);
        assert_eq!(verdict(&[(FindingKind::Quota, Weight::Low), (FindingKind::Age, Weight::Medium)]), Verdict::Findings);
    }

    #[test]
    fn only_the_file_itself_makes_it_bad() {
        assert_eq!(verdict(&[(FindingKind::Tampering, Weight::High)]), Verdict::Findings);
        assert_eq!(verdict(&[(FindingKind::Tampering, Weight::High), (FindingKind::Checksum, Weight::High)]), Verdict::Bad);
        assert_eq!(verdict(&[(FindingKind::Log, Weight::Medium)]), Verdict::Findings);
    }
}
