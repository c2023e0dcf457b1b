//! One term of a label selector.

use crate::requirement::{Operator, Requirement};

/// A requirement and how it is written.
pub(super) struct LabelTerm {
    pub(super) requirement: Requirement,
    pub(super) is_equality: bool,
}

impl LabelTerm {
    pub(super) fn equality(key: String, operator: Operator, value: String) -> Self {
        Self { requirement: Requirement { key, operator, values: vec![value] }, is_equality: true }
    }

    pub(super) fn set(key: String, operator: Operator, values: Vec<String>) -> Self {
        Self { requirement: Requirement { key, operator, values }, is_equality: false }
    }
}
