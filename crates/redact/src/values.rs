//! Values that go, found again in text.
//!
//! A value has no bounds in a text, so every place may begin one: an automaton looks for all at once, in one walk over the bytes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::choice::Class;
use crate::vocabulary::is_common;

/// A shorter value is not looked for: it would be found where it is not meant.
const MIN_VALUE_BYTES: usize = 8;
/// Longer values are looked for by their beginning, middle and end.
const MAX_PATTERN_BYTES: usize = 256;
/// Bytes of each of those.
const WINDOW_BYTES: usize = 48;

/// All values that go.
#[derive(Debug, Default)]
pub(crate) struct Values {
    values: HashMap<Vec<u8>, Class>,
    kept: HashSet<Vec<u8>>,
    finder: OnceLock<Finder>,
}

#[derive(Debug)]
struct Finder {
    automaton: AhoCorasick,
    classes: Vec<Class>,
}

impl Values {
    pub(crate) fn learn(&mut self, class: Class, value: &[u8]) {
        let value = value.trim_ascii();
        if !is_distinctive(value) || self.values.contains_key(value) {
            return;
        }
        self.values.insert(value.to_vec(), class);
        self.finder = OnceLock::new();
    }

    /// Notes a text that stays: as a value it is not looked for.
    pub(crate) fn keep(&mut self, text: &str) {
        if text.len() >= MIN_VALUE_BYTES && self.kept.insert(text.as_bytes().to_vec()) {
            self.finder = OnceLock::new();
        }
    }

    /// The values in some bytes, in order; of those that begin at one place the longest.
    pub(crate) fn find<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (Range<usize>, Class)> + 'a {
        let finder = self.finder.get_or_init(|| Finder::new(self.values.iter().filter(|(value, _)| !self.kept.contains(*value))));
        finder.automaton.find_iter(bytes).map(|found| (found.range(), finder.classes[found.pattern().as_usize()]))
    }
}

impl Finder {
    fn new<'v>(values: impl Iterator<Item = (&'v Vec<u8>, &'v Class)>) -> Self {
        let (mut patterns, mut classes) = (Vec::new(), Vec::new());
        for (value, class) in values {
            for pattern in windows(value) {
                patterns.push(pattern);
                classes.push(*class);
            }
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        // It fails for more patterns than numbers, which no machine holds.
        let automaton = automaton.unwrap_or_else(|error| unreachable!("{error}"));
        Self { automaton, classes }
    }
}

/// A value, or parts of a long one that tell it.
fn windows(value: &[u8]) -> Vec<&[u8]> {
    if value.len() <= MAX_PATTERN_BYTES {
        return vec![value];
    }
    let middle = (value.len() - WINDOW_BYTES) / 2;
    vec![&value[..WINDOW_BYTES], &value[middle..middle + WINDOW_BYTES], &value[value.len() - WINDOW_BYTES..]]
}

/// Whether a value would hardly stand anywhere by accident: it is long, more than words of Kubernetes, and neither a number, a time nor a uid.
fn is_distinctive(value: &[u8]) -> bool {
    if value.len() < MIN_VALUE_BYTES {
        return false;
    }
    let Ok(text) = std::str::from_utf8(value) else { return true };
    let is_plain = |c: char| c.is_ascii_hexdigit() || matches!(c, '-' | '.' | ':' | '/' | 'T' | 'Z' | '+' | 'v');
    if text.chars().all(is_plain) && (text.contains(['-', '.', ':']) || text.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && !words.all(is_common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinctive_values_are_found_anywhere() {
        let mut values = Values::default();
        for value in ["hunter2-hunter2", "true", "/var/run/secrets", "hunter2-hunter2-long", "8080"] {
            values.learn(Class::Values, value.as_bytes());
        }
        let found: Vec<_> = values.find(b"xhunter2-hunter2-longer true /var/run/secrets").map(|(range, _)| range).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0], 1..21);
        let long: String = (0..500).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
        values.learn(Class::Secrets, long.as_bytes());
        assert!(values.find(long.as_bytes()).count() >= 3);
        values.keep("hunter2-hunter2");
        assert_eq!(values.find(b"hunter2-hunter2").count(), 0);
    }
}
