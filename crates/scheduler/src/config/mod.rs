//! KubeSchedulerConfiguration, or the older Policy: the file a scheduler is started with, and the profiles made from it.
//! As upstream: the file is decoded, validated, and then the profiles are made. What upstream refuses is refused here, in our own words.
//! Upstream: `cmd/kube-scheduler/app/options/configfile.go`, `pkg/scheduler/apis/config` (types, defaults, validation), `scheduler.go` New.

mod arguments;
mod context;
mod decode;
mod defaults;
mod draft;
mod extenders;
mod framework;
mod leader_lock;
mod plugin_set;
mod policy;
mod profiles;
mod schema;
mod source_tree;
mod validation;
mod versions;

use serde_json::Value;

use crate::validation::Document;
use crate::{Gates, Profile, Release, applied_release};

use context::Context;
use decode::Faults;
use draft::Draft;
use source_tree::File;
use versions::ConfigVersion;

pub use leader_lock::LeaderLock;

/// A scheduler configuration: the profiles of a file and what of it was ignored.
#[derive(Debug)]
#[non_exhaustive]
pub struct SchedulerConfiguration {
    /// Its profiles, in order; each pod names one.
    pub profiles: Vec<Profile>,
    /// The lock by which its process is elected; `None` where no leader is elected. A Policy does not say.
    pub leader_lock: Option<LeaderLock>,
    /// What was ignored, each a sentence for the user.
    pub notes: Vec<String>,
}

impl SchedulerConfiguration {
    /// Parses a configuration file, JSON or YAML, for a scheduler of this release. Returns why it would be refused: each fault with its field.
    pub fn parse(text: &str, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        let file = File::parse(text).map_err(|reason| vec![reason])?;
        let mut parsed = Self::of(&file, release, gates)?;
        let more = "the configuration has several YAML documents: kube-scheduler reads the first, and ignores the others without a word";
        parsed.notes.extend(file.has_more.then(|| more.to_owned()));
        Ok(parsed)
    }

    /// Returns the configurations that a ConfigMap holds, with the names of their keys: where the text is that of one, and not a configuration itself.
    #[must_use]
    pub fn in_config_map(text: &str) -> Vec<(String, String)> {
        let Ok(File { value, .. }) = File::parse(text) else { return Vec::new() };
        let Some(data) = value["data"].as_object().filter(|_| value["kind"] == "ConfigMap") else { return Vec::new() };
        let is_one = |text: &str| {
            File::parse(text).is_ok_and(|file| ["KubeSchedulerConfiguration", "Policy"].iter().any(|kind| file.value["kind"] == *kind))
        };
        data.iter().filter_map(|(name, text)| Some((name.clone(), text.as_str().filter(|text| is_one(text))?.to_owned()))).collect()
    }

    /// Reads a configuration whose text is not known, only its value.
    pub fn read(value: &Value, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        Self::of(&File::of(value), release, gates)
    }

    fn of(file: &File, release: Release, gates: &Gates) -> Result<Self, Vec<String>> {
        if policy::is_policy(&file.value) {
            if !file.repeated.is_empty() {
                return Err(file.repeated.clone());
            }
            let profile = policy::read(&file.value, release, gates)?;
            return Ok(Self { profiles: vec![profile], leader_lock: Some(LeaderLock::default()), notes: Vec::new() });
        }
        let version = decode::version_of(file, applied_release(release), gates).map_err(|reason| vec![reason])?;
        let context = Context { version, release: applied_release(release), gates };
        let Faults { mistyped, unknown } = decode::check(file, &context);
        // v1alpha1 is decoded leniently where strict decoding fails.
        let notes = match mistyped.is_empty() && (unknown.is_empty() || version == ConfigVersion::V1Alpha1) {
            true => unknown,
            false => return Err(mistyped.into_iter().chain(unknown).collect()),
        };
        let document = Document::new(&file.value);
        let drafts = Draft::all(&document, &context);
        let wrong = validation::check(&document, &drafts, &context);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let profiles = profiles::make(&document, &drafts, &context).map_err(|reason| vec![reason])?;
        Ok(Self { profiles, leader_lock: LeaderLock::of(&file.value), notes })
    }
}

#[cfg(test)]
mod tests;
