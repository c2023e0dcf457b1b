//! One line of a difference: a sign, the field's path, and its value or old → new.

use serde_json::Value;

use super::value::{self, columns};
use super::visible::visible;
use ketcd_history::diff::{Field, FieldChange};

/// A line of a difference.
pub(super) struct FieldRow {
    pub(super) sign: char,
    pub(super) path: String,
    pub(super) value: String,
    /// Where `value` is `old → new`: the two of them.
    sides: Option<(String, String)>,
}

impl FieldRow {
    pub(super) fn new(sign: char, path: &str, value: &str) -> Self {
        Self { sign, path: visible(path).into_owned(), value: visible(value).into_owned(), sides: None }
    }

    /// Whether the value is an old and a new one.
    pub(super) fn is_pair(&self) -> bool {
        self.sides.is_some()
    }

    /// The value cut to `width` columns; an old and a new one share them.
    pub(super) fn cut_to(&self, width: usize) -> String {
        match &self.sides {
            Some((old, new)) if columns(&self.value) > width => {
                let (old_width, new_width) = (columns(old), columns(new));
                let each = width.saturating_sub(3) / 2;
                let old_columns = if new_width < each { width.saturating_sub(3 + new_width) } else { each };
                let new_columns = if old_width < each { width.saturating_sub(3 + old_width) } else { each };
                format!("{} → {}", value::cut(old, old_columns), value::cut(new, new_columns))
            }
            _ => value::cut(&self.value, width),
        }
    }
}

pub(super) fn row(change: &FieldChange<'_>) -> FieldRow {
    let path = visible(&change.path.to_string()).into_owned();
    let text = |side: Option<&Value>| side.map(|side| value::brief(&change.path, side)).unwrap_or_default();
    let (old, new) = (text(change.field.before()), text(change.field.after()));
    match change.field {
        Field::Added(_) => FieldRow::new('+', &path, &new),
        Field::Removed(_) => FieldRow::new('-', &path, &old),
        Field::Reordered => FieldRow::new('~', &path, "same items, another order"),
        Field::Changed(..) => FieldRow { sign: '~', path, value: format!("{old} → {new}"), sides: Some((old, new)) },
    }
}
