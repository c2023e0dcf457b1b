//! What reading the entries of a Policy depends on.

use crate::release::PolicyRules;
use crate::{Gates, Release};

/// The context of reading entries.
pub(super) struct PolicyContext<'a> {
    pub(super) release: Release,
    pub(super) gates: &'a Gates,
}

impl PolicyContext<'_> {
    pub(super) fn rules(&self) -> PolicyRules {
        PolicyRules::of(self.release)
    }
}

/// Leaks a name: a configuration lives as long as the program.
pub(super) fn kept(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
