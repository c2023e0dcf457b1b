//! What somebody did to an object.

use serde_json::Value;

use crate::row::row;
use ketcd_history::Intervention;
use ketcd_history::diff::FieldChange;

/// Where `kubectl apply` keeps what was applied: it repeats the change itself.
const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What somebody did, in words.
pub(crate) fn intervention_words(intervention: &Intervention<'_>) -> String {
    match intervention {
        Intervention::Created => "created".to_owned(),
        Intervention::Deleted => "deleted".to_owned(),
        Intervention::Changed(fields) => {
            let says_more = |field: &&FieldChange<'_>| !repeats(field);
            let mut told: Vec<&FieldChange<'_>> = fields.iter().filter(says_more).collect();
            if told.is_empty() {
                told = fields.iter().collect();
            }
            told.into_iter().map(field_words).collect::<Vec<_>>().join("; ")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn field_words(field: &FieldChange<'_>) -> String {
    if field.path.starts_with(&["metadata", "deletionTimestamp"]) {
        return "deletion asked for".to_owned();
    }
    let row = row(field);
    let path = ["spec.template.spec.", "metadata."].into_iter().find_map(|start| row.path.strip_prefix(start)).unwrap_or(&row.path);
    let sign = if row.sign == '~' { String::new() } else { format!("{} ", row.sign) };
    format!("{sign}{path} {}", row.value)
}

/// Whether a field is only the copy of what was applied.
fn repeats(field: &FieldChange<'_>) -> bool {
    let is_copy = |value: Option<&Value>| {
        value.is_none_or(|map| map.as_object().is_some_and(|map| map.keys().all(|key| key == LAST_APPLIED_ANNOTATION)))
    };
    let path = &field.path;
    path.starts_with(&["metadata", "annotations", LAST_APPLIED_ANNOTATION])
        || path.0.len() == 2
            && path.starts_with(&["metadata", "annotations"])
            && is_copy(field.field.before())
            && is_copy(field.field.after())
}
