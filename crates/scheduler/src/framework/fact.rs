//! One thing a filter checked on a node, and whether it lets the pod pass.

use std::borrow::Cow;

use crate::cluster::{Labels, Requirement};

use super::check::{FilterCheck, LabelCheck, WantedLabel};

/// One thing a filter checked. Two are equal where the same was checked with the same result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Whether it lets the pod pass.
    pub holds: bool,
    /// What was checked.
    pub check: FilterCheck,
}

impl Fact {
    /// A check that lets the pod pass where `holds`.
    pub fn new(holds: bool, check: impl Into<FilterCheck>) -> Self {
        Self { holds, check: check.into() }
    }

    /// A check that lets the pod pass.
    pub fn holding(check: impl Into<FilterCheck>) -> Self {
        Self::new(true, check)
    }

    /// A check that does not.
    pub fn refusing(check: impl Into<FilterCheck>) -> Self {
        Self::new(false, check)
    }

    /// A requirement on a label of the node.
    pub fn label(wanted: Requirement, labels: &Labels) -> Self {
        let label = WantedLabel::of(wanted, labels);
        Self::new(label.holds(), LabelCheck::Wanted(label))
    }

    /// What upstream itself says against the node.
    pub(crate) fn upstream(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::refusing(FilterCheck::Upstream(vec![reason.into()]))
    }
}
