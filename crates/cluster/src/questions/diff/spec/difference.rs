//! What a comparison by spec found.

use serde_json::Value;

use ketcd_history::ChangeKind;
use ketcd_history::diff::{Field, FieldChange, FieldPath};
use ketcd_kube::Release;

use super::left_out::Reason;
use super::naming::Naming;
use super::newer_defaults::NewerDefault;

/// What differs between two states in what objects are meant to be.
#[derive(Debug, Default)]
pub struct SpecDiff {
    /// The releases of the API servers, where the data show them.
    pub releases: [Option<Release>; 2],
    /// What differs, by kind, namespace and name.
    pub differences: Vec<SpecDifference>,
    /// What was left out, and how much of it each state has.
    pub left_out: Vec<(&'static Reason, [usize; 2])>,
    /// Fields that one state alone has, with the value that API servers write by default: how many objects have each.
    pub newer_defaults: Vec<(&'static NewerDefault, usize)>,
    /// Keys of values that cannot be decoded, and why.
    pub not_decoded: [Vec<(String, String)>; 2],
}

/// What an object is, whatever its uid and the generated parts of its name are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecId {
    /// The kind.
    pub kind: String,
    /// The API group; empty for core.
    pub group: String,
    /// The namespace; empty where the kind has none, and where two namespaces are compared.
    pub namespace: String,
    /// Its name.
    pub naming: Naming,
}

/// An object, or several that cannot be told apart by their names, that differs.
#[derive(Clone, Debug)]
pub struct SpecDifference {
    /// What it is.
    pub id: SpecId,
    /// What makes the second state of the first.
    pub kind: ChangeKind,
    /// The names in each state.
    pub names: [Vec<String>; 2],
    /// Whether the number of objects is part of the difference, where there may be several.
    pub counts: bool,
    /// The fields that differ, where both states have the object.
    pub fields: Vec<SpecField>,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecField {
    /// Where.
    pub path: FieldPath,
    /// How.
    pub change: SpecChange,
}

/// How a field differs.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecChange {
    /// Only the second state has it.
    Added(Value),
    /// Only the first state has it.
    Removed(Value),
    /// The value of the first state, and that of the second.
    Changed(Value, Value),
    /// A list has the same items in another order.
    Reordered,
}

impl SpecField {
    pub(super) fn of(change: &FieldChange<'_>) -> Self {
        let owned = match change.field {
            Field::Added(value) => SpecChange::Added(value.clone()),
            Field::Removed(value) => SpecChange::Removed(value.clone()),
            Field::Changed(before, after) => SpecChange::Changed(before.clone(), after.clone()),
            Field::Reordered => SpecChange::Reordered,
        };
        Self { path: change.path.clone(), change: owned }
    }

    /// Returns it as the difference of two versions of an object has it.
    pub fn as_change(&self) -> FieldChange<'_> {
        let field = match &self.change {
            SpecChange::Added(value) => Field::Added(value),
            SpecChange::Removed(value) => Field::Removed(value),
            SpecChange::Changed(before, after) => Field::Changed(before, after),
            SpecChange::Reordered => Field::Reordered,
        };
        FieldChange { path: self.path.clone(), field }
    }
}
