//! Names that were learned, found again in text.
//!
//! Text is cut into runs of what names are made of, and stretches of their parts are looked up in a table: as fast for a million names as for ten, where an
//! automaton of all of them would be larger than the objects.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::choice::Class;
use crate::names::is_of_part;
use crate::vocabulary::is_common;

/// No name has more parts that are looked up. Each number of parts is a bit of [`PartCounts`].
const MAX_PARTS: usize = 40;
/// How many parts the names have that begin alike: the lowest bit stands for one part.
type PartCounts = u64;

/// A name that goes.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub class: Class,
    pub pseudonym: String,
}

/// All names that go.
#[derive(Debug, Default)]
pub(crate) struct Words {
    words: HashMap<String, Word>,
    /// By their first parts how many parts they have, to look up no others.
    beginnings: HashMap<String, PartCounts>,
    /// Words of texts that stay, such as the plurals of custom kinds.
    literals: HashSet<String>,
    /// Those texts, where they have several parts.
    literal_runs: HashSet<String>,
}

/// A name in a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Occurrence {
    pub range: Range<usize>,
    /// Whether it is written in capitals, its parts joined by `_`.
    pub is_upper: bool,
}

impl Words {
    pub(crate) fn learn(&mut self, class: Class, word: &str, pseudonym: &str) {
        if word == pseudonym || self.words.contains_key(word) {
            return;
        }
        let parts = parts(word);
        if let Some(first) = parts.first().filter(|_| parts.len() <= MAX_PARTS) {
            *self.beginnings.entry(word[first.clone()].to_owned()).or_default() |= 1 << (parts.len() - 1);
        }
        self.words.insert(word.to_owned(), Word { class, pseudonym: pseudonym.to_owned() });
    }

    pub(crate) fn get(&self, word: &str) -> Option<&Word> {
        self.words.get(word)
    }

    /// Learns a text that stays: no name is looked for in it, and its parts alone are not names.
    pub(crate) fn keep(&mut self, literal: &str) {
        let parts = parts(literal);
        if parts.len() > 1 && !self.literal_runs.contains(literal) {
            self.literal_runs.insert(literal.to_owned());
        }
        for part in parts {
            let part = literal[part].to_lowercase();
            if !is_common(&part) {
                self.literals.insert(part);
            }
        }
    }

    /// Whether a text stays, such as the name of a driver.
    pub(crate) fn is_literal(&self, text: &str) -> bool {
        self.literal_runs.contains(text)
    }

    /// Whether a single word says nothing of anybody.
    pub(crate) fn is_common(&self, word: &str) -> bool {
        is_common(word) || self.literals.contains(word)
    }

    /// The names of a text, in order; of those that begin at one place the longest. Words of Kubernetes are taken for names only where `is_meant` says so.
    pub(crate) fn find(&self, text: &str, is_meant: impl Fn(&str, Range<usize>) -> bool) -> Vec<Occurrence> {
        let mut all = Vec::new();
        if self.words.is_empty() {
            return all;
        }
        for run in runs(text).into_iter().map(|run| self.without_tail(text, run)).filter(|run| !self.stays(&text[run.clone()])) {
            let parts: Vec<Range<usize>> =
                parts(&text[run.clone()]).into_iter().map(|part| run.start + part.start..run.start + part.end).collect();
            let mut first = 0;
            while first < parts.len() {
                match self.longest_at(text, &parts, first, &is_meant) {
                    Some((last, is_upper)) => {
                        all.push(Occurrence { range: parts[first].start..parts[last].end, is_upper });
                        first = last + 1;
                    }
                    None => first += 1,
                }
            }
        }
        all
    }

    /// A run without what stays behind its last slash: a key ends in a name of Kubernetes' own.
    fn without_tail(&self, text: &str, run: Range<usize>) -> Range<usize> {
        match text[run.clone()].rsplit_once('/') {
            Some((head, tail)) if self.literal_runs.contains(tail) => run.start..run.start + head.len(),
            _ => run,
        }
    }

    /// Whether a run is a text that stays, also as a key of managed fields or before punctuation.
    fn stays(&self, run: &str) -> bool {
        let run = run.trim_end_matches(|c| !is_of_part(c));
        self.literal_runs.contains(run) || run.strip_prefix("f:").is_some_and(|field| self.literal_runs.contains(field))
    }

    fn longest_at(
        &self,
        text: &str,
        parts: &[Range<usize>],
        first: usize,
        is_meant: &impl Fn(&str, Range<usize>) -> bool,
    ) -> Option<(usize, bool)> {
        let counts = self.counts_of(&text[parts[first].clone()]);
        let last = parts.len().min(first + MAX_PARTS);
        (first..last).rev().filter(|last| counts >> (last - first) & 1 == 1).find_map(|last| {
            let range = parts[first].start..parts[last].end;
            let found = &text[range.clone()];
            if self.literal_runs.contains(found) {
                return None;
            }
            let is_alone = first == last && self.is_common(found);
            if self.words.contains_key(found) && (!is_alone || is_meant(text, range.clone())) {
                return Some((last, false));
            }
            let is_upper = found.bytes().any(|byte| byte.is_ascii_uppercase()) && !found.bytes().any(|byte| byte.is_ascii_lowercase());
            if !is_upper || is_alone {
                return None;
            }
            let lower = found.to_lowercase().replace('_', "-");
            (self.words.contains_key(&lower) && (first != last || !self.is_common(&lower))).then_some((last, true))
        })
    }
}

impl Words {
    /// How many parts the names have that begin with this part, as it is or in capitals.
    fn counts_of(&self, part: &str) -> PartCounts {
        let counts = |part: &str| self.beginnings.get(part).copied().unwrap_or_default();
        let is_lower = part.bytes().any(|byte| byte.is_ascii_lowercase()) || part.bytes().all(|byte| byte.is_ascii_digit());
        counts(part) | if is_lower { 0 } else { counts(&part.to_lowercase()) }
    }
}

/// Whether a character other than a part's is within a run.
pub(crate) const fn joins_parts(c: char) -> bool {
    matches!(c, '-' | '.' | '_' | '/' | ':' | '@' | '~' | '+' | '^')
}

/// Stretches of a text without spaces, quotes and brackets.
fn runs(text: &str) -> Vec<Range<usize>> {
    let joins = |c: char| is_of_part(c) || joins_parts(c);
    let (mut all, mut start) = (Vec::new(), None);
    for (at, c) in text.char_indices() {
        match start {
            None if is_of_part(c) => start = Some(at),
            Some(begun) if !joins(c) => {
                all.push(begun..at);
                start = None;
            }
            _ => {}
        }
    }
    all.extend(start.map(|begun| begun..text.len()));
    all
}

/// The parts of a name or run.
fn parts(run: &str) -> Vec<Range<usize>> {
    let (mut all, mut start) = (Vec::new(), None);
    for (at, c) in run.char_indices() {
        match (start, is_of_part(c)) {
            (None, true) => start = Some(at),
            (Some(begun), false) => {
                all.push(begun..at);
                start = None;
            }
            _ => {}
        }
    }
    all.extend(start.map(|begun| begun..run.len()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut words = Words::default();
        for word in ["payments", "payments-api", "shop", "pod", "10.0.0.1x", "web.0"] {
            words.learn(Class::Names, word, "x");
        }
        let is_quoted = |text: &str, range: Range<usize>| text[..range.start].ends_with('"') && text[range.end..].starts_with('"');
        words.find(text, is_quoted).into_iter().map(|found| text[found.range].to_owned()).collect()
    }

    #[test]
    fn names_are_found_at_the_ends_of_parts() {
        assert_eq!(found("Successfully assigned shop/payments-api-7d9f8b5c4-x2x9k to node"), ["shop", "payments-api"]);
        assert_eq!(found("payments.shop.svc, PAYMENTS_API_SERVICE_HOST; workshop prepayments"), ["payments", "shop", "PAYMENTS_API"]);
        assert_eq!(found("the pod \"pod\" of web.0 and 10.0.0.1x"), ["pod", "web.0", "10.0.0.1x"]);
        assert!(found("").is_empty());
    }
}
