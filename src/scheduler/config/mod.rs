//! KubeSchedulerConfiguration: the file a scheduler is started with, as the profiles it makes; or the older Policy.
//! Upstream: `pkg/scheduler/apis/config` (types, defaults, validation), `framework/runtime/framework.go` (expansion).

mod arguments;
mod defaults;
mod document;
mod election;
mod expand;
mod label_name;
mod plugin_set;
mod policy;
mod profiles;
mod versions;

use serde_json::Value;

use super::{Gates, Profile, Release};

use document::Document;
pub use versions::ConfigVersion;

/// What a configuration says.
#[derive(Debug)]
pub struct SchedulerConfiguration {
    /// Its profiles, in order; each pod names one.
    pub profiles: Vec<Profile>,
    /// What was passed over, each a sentence for the user.
    pub notes: Vec<String>,
}

impl SchedulerConfiguration {
    /// Reads a configuration for a scheduler of this release. Every reason against it is given, in upstream's words where it has some.
    pub fn read(value: &Value, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        if policy::is_policy(value) {
            return policy::read(value, release, gates);
        }
        let document = Document::new(value);
        let version = ConfigVersion::of(&document, release).map_err(|reason| vec![reason])?;
        profiles::read(&document, version, release, gates)
    }
}

#[cfg(test)]
mod tests;
