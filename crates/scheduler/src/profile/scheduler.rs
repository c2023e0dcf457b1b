//! Who schedules: the profiles of one scheduler, and how its release is known.

use crate::cluster::PodInfo;

use crate::{Gates, Profile, Release, VersionFrom, judged_as};

/// One scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Its profiles; a pod is judged by the one it names, or by the first as a hypothesis.
    pub profiles: Vec<Profile>,
    /// Its release and the evidence for it.
    pub version: VersionFrom,
    /// The release that the data itself speaks of; where the user asks for another one, recorded outcomes are not expected to follow.
    pub recorded: Release,
    /// Whether the configuration was given, not assumed.
    pub configured: bool,
}

impl Scheduler {
    /// The scheduler of a release as it runs without a configuration file.
    pub fn with_defaults(version: VersionFrom) -> Self {
        let profile = Profile::new(version.release, Gates::new(judged_as(version.release)).at_patch(version.patch));
        Self { profiles: vec![profile], recorded: version.release, version, configured: false }
    }

    /// The profile for a pod, and whether it is the one the pod asks for.
    pub fn profile_for(&self, pod: &PodInfo) -> (&Profile, bool) {
        let named = self.profiles.iter().find(|profile| profile.scheduler_name == *pod.spec.scheduler_name);
        (named.unwrap_or(&self.profiles[0]), named.is_some())
    }

    /// Whether recorded outcomes are those of the release judged by.
    pub fn is_as_recorded(&self) -> bool {
        judged_as(self.version.release) == judged_as(self.recorded)
    }
}
