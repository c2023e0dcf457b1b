//! What is kept of requests: texts that many share once each (users, user agents, addresses, resources), and bodies where they are wanted.

use std::collections::HashSet;
use std::sync::Arc;

/// Texts that are kept once.
#[derive(Debug, Default)]
pub struct Names {
    known: HashSet<Arc<str>>,
    /// How many texts there may be before it is looked again which are held.
    most_now: usize,
    pub(crate) keeps_bodies: bool,
    /// Whether requests whose answer has begun are requests too.
    pub(crate) keeps_open: bool,
}

/// Longer texts are cut: a user agent is written by its client.
const MAX_TEXT_BYTES: usize = 1024;

/// With more texts than these, those that no request holds any more are forgotten: names of namespaces and users come and go in a long log.
const MAX_TEXTS_HELD: usize = 16_384;

impl Names {
    /// The same for a reader whose requests keep their bodies.
    pub(crate) fn with_bodies() -> Self {
        Self { keeps_bodies: true, ..Self::default() }
    }

    /// The same for a reader of requests whose answer has begun too.
    pub(crate) fn with_open() -> Self {
        Self { keeps_open: true, ..Self::default() }
    }

    /// Returns the one copy of a text.
    pub fn of(&mut self, text: &str) -> Arc<str> {
        let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
        let text = &text[..end];
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.most_now.max(MAX_TEXTS_HELD) {
            self.known.retain(|name| Arc::strong_count(name) > 1);
            self.most_now = self.known.len() * 2;
        }
        let name: Arc<str> = text.into();
        self.known.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_nobody_holds_are_forgotten() {
        let mut names = Names::default();
        let held = names.of("alice");
        (0..10 * MAX_TEXTS_HELD).for_each(|number| drop(names.of(&number.to_string())));
        assert!(names.known.len() <= MAX_TEXTS_HELD, "{}", names.known.len());
        assert!(Arc::ptr_eq(&held, &names.of("alice")));
    }

    #[test]
    fn a_text_is_kept_once_and_never_cut_within_a_letter() {
        let mut names = Names::default();
        assert!(Arc::ptr_eq(&names.of("alice"), &names.of("alice")));
        assert_eq!(names.of(&"ü".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
        assert_eq!(names.of(&format!("x{}", "ü".repeat(MAX_TEXT_BYTES))).len(), MAX_TEXT_BYTES - 1);
    }
}
