//! Texts that many requests share, each kept once: users, user agents, addresses, resources.

use std::collections::HashSet;
use std::sync::Arc;

/// Texts that are kept once.
#[derive(Debug, Default)]
pub struct Names(HashSet<Arc<str>>);

/// Longer texts are cut: a user agent is written by its client.
const LONGEST: usize = 1024;

impl Names {
    /// Returns the one copy of a text.
    pub fn of(&mut self, text: &str) -> Arc<str> {
        let end = (0..=LONGEST.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
        let text = &text[..end];
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let name: Arc<str> = text.into();
        self.0.insert(Arc::clone(&name));
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
