//! What reading a configuration depends on: its version, the scheduler's release and its gates.

use crate::release::ConfigRules;
use crate::{Gates, Release};

use super::versions::ConfigVersion;

/// The context of reading a file.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    pub(super) version: ConfigVersion,
    pub(super) release: Release,
    pub(super) gates: &'c Gates,
}

impl Context<'_> {
    /// The release's rules for configurations.
    pub(super) fn rules(&self) -> ConfigRules {
        ConfigRules::of(self.release)
    }
}
