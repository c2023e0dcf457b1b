//! Validation of label keys and values, with the messages of a release.

use crate::Release;
use crate::release::ValidationWords;

use super::document::Document;

/// Returns why a configuration's field that must be a label key is refused.
pub(crate) fn fault(field: &Document<'_>, release: Release) -> Option<String> {
    (!of_name(field.text(), release).is_empty()).then(|| field.wrong(format!("{:?} is not a valid label key", field.text())))
}

/// Returns the errors of a label key.
pub(crate) fn of_name(text: &str, release: Release) -> Vec<String> {
    ValidationWords::of(release).labels().key_problems(text)
}

pub(crate) fn of_value(text: &str, release: Release) -> Vec<String> {
    ValidationWords::of(release).labels().value_problems(text)
}
