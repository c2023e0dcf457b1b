//! Validation of label keys and values, with the messages of a release.

use crate::Release;
use crate::release::ValidationWords;

use super::document::Document;

/// Returns the errors of a field that must be a label key.
pub(crate) fn check(field: &Document<'_>, release: Release) -> Vec<String> {
    of_name(field.text(), release).into_iter().map(|why| field.invalid_text(why)).collect()
}

/// Returns the errors of a label key.
pub(crate) fn of_name(text: &str, release: Release) -> Vec<String> {
    ValidationWords::of(release).labels().key_problems(text)
}

/// Returns the errors of a label value.
pub(crate) fn of_value(text: &str, release: Release) -> Vec<String> {
    ValidationWords::of(release).labels().value_problems(text)
}
