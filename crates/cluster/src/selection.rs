//! Which of the objects addressed count: those whose labels and fields selectors select.

use serde_json::Value;

use ketcd_history::Change;
use ketcd_kube::{FieldSelector, FieldSet, LabelSelector};

/// Selectors of objects, as kubectl's `-l` and `--field-selector` are.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The labels that an object has.
    pub labels: LabelSelector,
    /// The fields that an object has.
    pub fields: FieldSelector,
    /// Whether an object counts that fitted at any readable revision up to the one looked at, not only one that fits there.
    pub ever: bool,
}

impl Selection {
    /// Whether nothing is selected, so that every object counts.
    pub fn takes_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object fits.
    pub fn fits(&self, object: &Value) -> bool {
        self.labels.matches(&object["metadata"]["labels"].as_object()) && self.fields.matches(object)
    }

    /// Whether a change is of an object that fits, before or after it. Values that are no objects fit only where nothing is selected.
    pub fn takes(&self, change: &Change) -> bool {
        self.takes_all()
            || [&change.before, &change.after].into_iter().filter_map(|version| version.object()).any(|object| self.fits(object))
    }

    pub(crate) fn looks_at(&self) -> FieldSet {
        self.fields.paths().fold(FieldSet::of(["metadata.labels"]), |set, path| set.with(&path))
    }
}
