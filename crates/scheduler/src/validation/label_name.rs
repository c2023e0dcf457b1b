//! Which of upstream's words a release says of the keys and values of labels.

use ketcd_kube::LabelWords;

use crate::Release;

use super::document::Document;

fn words(release: Release) -> LabelWords {
    let (key, unit) = if release.0 >= 35 { ("valid label key", "bytes") } else { ("qualified name", "characters") };
    LabelWords { key, unit, standard: if release.0 >= 20 { "a lowercase RFC 1123" } else { "a DNS-1123" } }
}

/// Returns what is wrong with a field that must be a label's key.
pub(crate) fn check(field: &Document<'_>, release: Release) -> Vec<String> {
    of_name(field.text(), release).into_iter().map(|why| field.invalid_text(why)).collect()
}

/// Returns what is wrong with a label's key.
pub(crate) fn of_name(text: &str, release: Release) -> Vec<String> {
    words(release).key_problems(text)
}

/// Returns what is wrong with a label's value.
pub(crate) fn of_value(text: &str, release: Release) -> Vec<String> {
    words(release).value_problems(text)
}
