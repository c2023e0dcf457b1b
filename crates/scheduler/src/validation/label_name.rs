//! What is wrong with the keys and values of labels, in the words of a release.

use crate::Release;
use crate::release::ValidationWords;

use super::document::Document;

/// Returns what is wrong with a field that must be a label's key.
pub(crate) fn check(field: &Document<'_>, release: Release) -> Vec<String> {
    of_name(field.text(), release).into_iter().map(|why| field.invalid_text(why)).collect()
}

/// Returns what is wrong with a label's key.
pub(crate) fn of_name(text: &str, release: Release) -> Vec<String> {
    ValidationWords::of(release).labels().key_problems(text)
}

/// Returns what is wrong with a label's value.
pub(crate) fn of_value(text: &str, release: Release) -> Vec<String> {
    ValidationWords::of(release).labels().value_problems(text)
}
