//! What is wrong with rows, in words.

/// More sentences of a kind are not written; of the rest the revisions are named.
const MAX_SENTENCES: usize = 20;

/// A sentence, and the revisions that it is about.
pub(super) struct Finding {
    /// None where it is not known which.
    pub(super) revisions: Vec<i64>,
    pub(super) sentence: String,
}

impl Finding {
    pub(super) fn new(revisions: impl Into<Vec<i64>>, sentence: String) -> Self {
        Self { revisions: revisions.into(), sentence }
    }
}

/// The first sentences, and how many more there are of which revisions, so that each revision that may be shown wrongly is named.
pub(super) fn listed(findings: Vec<Finding>, more: &str) -> Vec<String> {
    let rest = findings.len().saturating_sub(MAX_SENTENCES);
    let mut revisions: Vec<i64> = findings.iter().skip(MAX_SENTENCES).flat_map(|finding| finding.revisions.iter().copied()).collect();
    revisions.sort_unstable();
    revisions.dedup();
    let mut listed: Vec<String> = findings.into_iter().take(MAX_SENTENCES).map(|finding| finding.sentence).collect();
    if rest > 0 {
        let revisions: Vec<String> = revisions.iter().map(i64::to_string).collect();
        let of = if revisions.is_empty() { String::new() } else { format!(": revisions {}", revisions.join(", ")) };
        listed.push(format!("{rest} more {more}{of}"));
    }
    listed
}
