//! A scheduler: its profiles, and the evidence for its release.

use crate::cluster::PodInfo;

use crate::{Gates, Profile, Release, VersionEvidence, VersionFrom, applied_release};

/// A scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Its profiles; a pod is evaluated with the one it names, or hypothetically with the first.
    pub profiles: Vec<Profile>,
    /// Its release and the evidence for it.
    pub version: VersionFrom,
    /// The release detected in the data; where the user gives another, recorded outcomes are not expected to follow.
    pub recorded: Release,
    /// Whether the configuration was given, not assumed.
    pub configured: bool,
}

impl Scheduler {
    /// The scheduler of a release as it runs without a configuration file.
    #[must_use]
    pub fn with_defaults(version: VersionFrom) -> Self {
        let profile = Profile::new(version.release, Gates::new(applied_release(version.release)).at_patch(version.patch));
        Self { profiles: vec![profile], recorded: version.release, version, configured: false }
    }

    /// Returns the profile for a pod, and whether it is the one the pod names.
    pub fn profile_for(&self, pod: &PodInfo) -> (&Profile, bool) {
        let named = self.profiles.iter().find(|profile| profile.scheduler_name == *pod.spec.scheduler_name);
        (named.unwrap_or(&self.profiles[0]), named.is_some())
    }

    /// Returns the release that decided what was recorded; `None` where it is only assumed.
    pub fn decided_release(&self) -> Option<Release> {
        let is_assumed = |evidence: &VersionEvidence| match evidence {
            VersionEvidence::NewestPatchAssumed(found) => **found == VersionEvidence::Assumed,
            found => *found == VersionEvidence::Assumed,
        };
        (!is_assumed(&self.version.evidence)).then_some(self.recorded)
    }

    /// Whether the recorded outcomes are of the release whose rules are applied.
    pub fn is_as_recorded(&self) -> bool {
        applied_release(self.version.release) == applied_release(self.recorded)
    }
}
