//! What is kept of requests: texts that many share once each (users, user agents, addresses, resources), and bodies where they are wanted.

use std::collections::HashSet;
use std::sync::Arc;

/// Texts that are kept once.
#[derive(Debug, Default)]
pub struct Names {
    known: HashSet<Arc<str>>,
    /// Whether requests keep their bodies.
    pub(crate) keeps_bodies: bool,
}

/// Longer texts are cut: a user agent is written by its client.
const LONGEST: usize = 1024;

impl Names {
    /// The same for a reader whose requests keep their bodies.
    pub(crate) fn with_bodies() -> Self {
        Self { keeps_bodies: true, ..Self::default() }
    }

    /// Returns the one copy of a text.
    pub fn of(&mut self, text: &str) -> Arc<str> {
        let end = (0..=LONGEST.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
        let text = &text[..end];
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
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
    fn a_text_is_kept_once_and_never_cut_within_a_letter() {
        let mut names = Names::default();
        assert!(Arc::ptr_eq(&names.of("alice"), &names.of("alice")));
        assert_eq!(names.of(&"ü".repeat(LONGEST)).len(), LONGEST);
        assert_eq!(names.of(&format!("x{}", "ü".repeat(LONGEST))).len(), LONGEST - 1);
    }
}
