//! Words that the caller listed: they go wherever they stand, in whatever case.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::keyed::Keyed;

/// Digits of the pseudonym of a word.
const HASH_DIGITS: usize = 10;

/// The words.
#[derive(Debug)]
pub(crate) struct OwnWords {
    keyed: Keyed,
    automaton: Option<AhoCorasick>,
}

impl OwnWords {
    pub(crate) fn new(keyed: Keyed, words: &[String]) -> Self {
        let words: Vec<&str> = words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
        let automaton = (!words.is_empty()).then(|| {
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest);
            // It fails for more patterns than numbers, which no machine holds.
            builder.build(words).unwrap_or_else(|error| unreachable!("{error}"))
        });
        Self { keyed, automaton }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// Where words stand in some bytes.
    pub(crate) fn find<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
        self.automaton.iter().flat_map(move |automaton| automaton.find_iter(bytes)).map(|found| found.range())
    }

    /// A text with pseudonyms for the words, and how many there were; `None` where it has none.
    pub(crate) fn replaced(&self, text: &str) -> Option<(String, usize)> {
        let (mut replaced, mut from, mut count) = (String::new(), 0, 0);
        for range in self.find(text.as_bytes()) {
            replaced.push_str(&text[from..range.start]);
            replaced.push('w');
            replaced.push_str(&self.keyed.word("own", &text[range.clone()].to_lowercase(), HASH_DIGITS));
            from = range.end;
            count += 1;
        }
        (count > 0).then(|| (replaced + &text[from..], count))
    }
}
