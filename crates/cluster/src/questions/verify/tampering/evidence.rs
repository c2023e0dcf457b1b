//! What the rules found, and the findings that come of it: one for each write, whatever number of rules it breaks.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

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

/// A write: its revision, where that is known, and its key.
type Write = (Option<Revision>, Bytes);

/// Gathers what the rules find. Of many writes the first ones are held, and of the others only that they are there.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first writes, [`MAX_FINDINGS`] at most, each with its signs and their places among all signs.
    first: BTreeMap<Write, Vec<(usize, Evidence)>>,
    /// Hashes of the writes behind these.
    beyond: HashSet<u64>,
    /// Signs that copies show too, which count if no copy is found.
    of_copies: Vec<(usize, Evidence)>,
    /// How many signs were added.
    signs: usize,
}

impl Found {
    /// Adds a sign.
    pub(super) fn add(&mut self, evidence: Evidence) {
        self.signs += 1;
        if evidence.is_of_copies {
            self.of_copies.push((self.signs, evidence));
            return;
        }
        let write = (evidence.revision, evidence.key.clone());
        if self.beyond.contains(&hash(&write)) {
            return;
        }
        self.first.entry(write).or_default().push((self.signs, evidence));
        if self.first.len() > MAX_FINDINGS
            && let Some((write, _)) = self.first.pop_last()
        {
            self.beyond.insert(hash(&write));
        }
    }

    /// Returns the findings, by revision, and how many are not listed. What was written up to `copied_until` was written by a copying program.
    pub(super) fn findings(self, copied_until: Option<Revision>) -> (Vec<Finding>, usize) {
        let Self { first: mut writes, beyond, of_copies, .. } = self;
        let is_copied = |evidence: &Evidence| evidence.revision.is_some_and(|at| Some(at) <= copied_until);
        for (place, evidence) in of_copies.into_iter().filter(|(_, evidence)| !is_copied(evidence)) {
            let write = (evidence.revision, evidence.key.clone());
            if !beyond.contains(&hash(&write)) {
                writes.entry(write).or_default().push((place, evidence));
            }
        }
        let left = beyond.len() + writes.len().saturating_sub(MAX_FINDINGS);
        let listed = writes.into_iter().take(MAX_FINDINGS).map(|((revision, key), mut signs)| {
            signs.sort_by_key(|(place, _)| *place);
            finding(revision, &key, signs.into_iter().map(|(_, sign)| sign).collect())
        });
        (listed.collect(), left)
    }
}

fn hash(write: &Write) -> u64 {
    let mut hasher = DefaultHasher::new();
    write.hash(&mut hasher);
    hasher.finish()
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

    #[test]
    fn of_many_writes_the_first_are_listed_and_the_others_counted() {
        let most = MAX_FINDINGS as i64;
        let mut found = Found::default();
        // The last come first; each has two signs, and half of those behind the first have one that copies show too.
        for revision in (1..=2 * most).rev() {
            found.add(sign(revision, Weight::Medium, "one"));
            found.add(sign(revision, Weight::High, "other"));
            if revision > most && revision % 2 == 0 {
                found.add(sign(revision, Weight::High, "of a copy").of_copies());
            }
        }
        found.add(sign(3 * most, Weight::High, "of a copy").of_copies());
        assert!(found.first.len() <= MAX_FINDINGS);
        let (findings, left) = found.findings(None);
        assert_eq!((findings.len(), left), (MAX_FINDINGS, MAX_FINDINGS + 1));
        assert!(findings.iter().zip(1..).all(|(finding, at)| finding.revision == Some(Revision(at)) && finding.evidence == ["one"]));
    }
}
