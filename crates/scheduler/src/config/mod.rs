//! KubeSchedulerConfiguration, or the older Policy: the file a scheduler is started with, and the profiles made from it.
//! As upstream: the file is decoded, validated, and then the profiles are made; each step returns its own errors.
//! Upstream: `cmd/kube-scheduler/app/options/configfile.go`, `pkg/scheduler/apis/config` (types, defaults, validation), `scheduler.go` New.

mod arguments;
mod decode;
mod defaults;
mod draft;
mod extenders;
mod framework;
mod plugin_set;
mod policy;
mod profiles;
mod schema;
mod source_tree;
mod validation;
mod versions;

use serde_json::Value;

use crate::release::ConfigRules;
use crate::validation::Document;
use crate::{Gates, Profile, Release, applied_release};

use draft::Draft;
use source_tree::File;
pub(crate) use versions::ConfigVersion;

/// A configuration.
#[derive(Debug)]
pub struct SchedulerConfiguration {
    /// Its profiles, in order; each pod names one.
    pub profiles: Vec<Profile>,
    /// What was ignored, each a sentence for the user.
    pub notes: Vec<String>,
}

/// The context of reading a file.
#[derive(Clone, Copy)]
struct Context<'c> {
    /// The file's version.
    version: ConfigVersion,
    /// The scheduler's release.
    release: Release,
    /// Its gates.
    gates: &'c Gates,
}

impl Context<'_> {
    /// The release's rules for configurations.
    fn rules(&self) -> ConfigRules {
        ConfigRules::of(self.release)
    }
}

impl SchedulerConfiguration {
    /// Parses a configuration file, JSON or YAML, for a scheduler of this release. Returns every error, in upstream's words where it has some.
    pub fn parse(text: &str, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        Self::of(&File::parse(text).map_err(|reason| vec![reason])?, release, gates)
    }

    /// Reads a configuration of which only the value is known.
    pub fn read(value: &Value, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        Self::of(&File::of(value), release, gates)
    }

    fn of(file: &File, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        if policy::is_policy(&file.value) {
            let repeated = file.repeated.clone().map_or(Ok(()), |reason| Err(vec![reason]));
            return repeated.and_then(|()| policy::read(&file.value, release, gates));
        }
        let version = ConfigVersion::of(file, applied_release(release), gates).map_err(|reason| vec![reason])?;
        let context = Context { version, release: applied_release(release), gates };
        let notes = match decode::check(file, &context) {
            // v1alpha1 is decoded leniently where strict decoding fails.
            Err(reason) if version == ConfigVersion::V1Alpha1 && reason.starts_with("strict") => vec![reason],
            checked => checked.map(|()| Vec::new()).map_err(|reason| vec![reason])?,
        };
        let document = Document::new(&file.value);
        let drafts = Draft::all(&document, &context);
        let wrong = validation::check(&document, &drafts, &context);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let profiles = profiles::make(&document, &drafts, &context).map_err(|reason| vec![reason])?;
        Ok(Self { profiles, notes })
    }
}

#[cfg(test)]
mod tests;
