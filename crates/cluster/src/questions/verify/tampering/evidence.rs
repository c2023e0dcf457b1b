//! What the rules found, and the findings that come of it: one for each write, whatever number of rules it breaks.

use std::collections::BTreeMap;

use bytes::Bytes;

use ketcd_store::Revision;

use super::super::finding::{Finding, FindingKind, Weight};

/// More findings are counted and not listed.
const MAX_FINDINGS: usize = 1_000;

/// One sign of a write past the API server.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub revision: Option<Revision>,
    pub key: Bytes,
    /// A sentence without its full stop.
    pub says: String,
    /// What shows it, one fact per item.
    pub facts: Vec<String>,
    pub weight: Weight,
    /// Whether a store that was copied key by key shows it too.
    pub is_of_copies: bool,
}

impl Evidence {
    /// A sign at a revision of a key.
    pub(super) fn new(revision: Revision, key: &Bytes, weight: Weight, says: impl Into<String>) -> Self {
        Self { revision: Some(revision), key: key.clone(), says: says.into(), facts: Vec::new(), weight, is_of_copies: false }
    }

    /// A sign of a key at a revision that is not known.
    pub(super) fn undated(key: &Bytes, weight: Weight, says: impl Into<String>) -> Self {
        Self { revision: None, ..Self::new(Revision(0), key, weight, says) }
    }

    /// The same with a fact that shows it.
    #[must_use]
    pub(super) fn because(mut self, fact: impl Into<String>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// The same as one that a copied store shows too.
    #[must_use]
    pub(super) fn of_copies(self) -> Self {
        Self { is_of_copies: true, ..self }
    }
}

/// Gathers what the rules find.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<Evidence>);

impl Found {
    /// Adds a sign.
    pub(super) fn add(&mut self, evidence: Evidence) {
        self.0.push(evidence);
    }

    /// Returns the findings, by revision, and how many are not listed. What was written up to `copied_until` was written by a copying program.
    pub(super) fn findings(self, copied_until: Option<Revision>) -> (Vec<Finding>, usize) {
        let is_copied = |evidence: &Evidence| evidence.is_of_copies && evidence.revision.is_some_and(|at| Some(at) <= copied_until);
        let mut writes: BTreeMap<(Option<Revision>, Bytes), Vec<Evidence>> = BTreeMap::new();
        for evidence in self.0.into_iter().filter(|evidence| !is_copied(evidence)) {
            writes.entry((evidence.revision, evidence.key.clone())).or_default().push(evidence);
        }
        let left = writes.len().saturating_sub(MAX_FINDINGS);
        (writes.into_iter().take(MAX_FINDINGS).map(|((revision, key), signs)| finding(revision, &key, signs)).collect(), left)
    }
}

/// The finding of one write: the weightiest sign first, the others as further evidence.
fn finding(revision: Option<Revision>, key: &[u8], mut signs: Vec<Evidence>) -> Finding {
    signs.sort_by_key(|sign| std::cmp::Reverse(sign.weight));
    let mut signs = signs.into_iter();
    let first = signs.next();
    let (weight, says, mut evidence) = first.map_or((Weight::Low, String::new(), Vec::new()), |sign| (sign.weight, sign.says, sign.facts));
    for sign in signs.filter(|sign| sign.says != says) {
        evidence.push(sign.says.clone());
        evidence.extend(sign.facts);
    }
    let finding = Finding { revision, evidence, ..Finding::new(FindingKind::Tampering, weight, says) };
    finding.of_key(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(revision: i64, weight: Weight, says: &str) -> Evidence {
        Evidence::new(Revision(revision), &Bytes::from_static(b"/registry/pods/a/b"), weight, says)
    }

    #[test]
    fn a_write_is_one_finding_under_its_weightiest_sign() {
        let mut found = Found::default();
        found.add(sign(7, Weight::Low, "light").because("one fact"));
        found.add(sign(7, Weight::High, "heavy").because("another"));
        found.add(sign(5, Weight::Medium, "earlier"));
        let (findings, left) = found.findings(None);
        let said: Vec<&str> = findings.iter().map(|finding| finding.says.as_str()).collect();
        assert_eq!((said, left), (vec!["earlier", "heavy"], 0));
        assert_eq!(findings[1].evidence, ["another", "light", "one fact"]);
        assert_eq!((findings[1].revision, findings[1].weight), (Some(Revision(7)), Weight::High));
    }

    #[test]
    fn what_copies_show_too_counts_behind_the_copy_alone() {
        let mut found = Found::default();
        found.add(sign(5, Weight::High, "of a copy").of_copies());
        found.add(sign(6, Weight::High, "of nobody"));
        found.add(sign(9, Weight::High, "of a copy").of_copies());
        let (findings, _) = found.findings(Some(Revision(8)));
        assert_eq!(findings.iter().map(|finding| finding.revision.unwrap().0).collect::<Vec<_>>(), [6, 9]);
    }
}
