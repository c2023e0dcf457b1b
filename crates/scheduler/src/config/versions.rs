//! Versions of the configuration's API, and the releases that read them.

use crate::Release;
use crate::release::{ConfigRules, Span, between, since};

/// A version of the API group `kubescheduler.config.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfigVersion {
    V1Alpha1,
    V1Alpha2,
    V1Beta1,
    V1Beta2,
    V1Beta3,
    V1,
}

/// Each version with the releases that read it (`apis/config/scheme/scheme.go`).
const CONFIG_VERSIONS: [(ConfigVersion, &str, Span); 6] = [
    (ConfigVersion::V1Alpha1, "v1alpha1", between(9, 18)),
    (ConfigVersion::V1Alpha2, "v1alpha2", between(18, 18)),
    (ConfigVersion::V1Beta1, "v1beta1", between(19, 22)),
    (ConfigVersion::V1Beta2, "v1beta2", between(22, 27)),
    (ConfigVersion::V1Beta3, "v1beta3", between(23, 28)),
    (ConfigVersion::V1, "v1", since(25)),
];

impl ConfigVersion {
    /// Returns the version of an `apiVersion`, if this release reads it.
    pub(crate) fn named(version: &str, release: Release) -> Option<Self> {
        let name = version.strip_prefix(ConfigRules::of(release).api_group())?.strip_prefix('/')?;
        Self::readable(release).find(|(_, known, ..)| *known == name).map(|(version, ..)| *version)
    }

    /// The versions that this release reads, each with its name and its releases.
    pub(super) fn readable(release: Release) -> impl Iterator<Item = &'static (Self, &'static str, Span)> {
        CONFIG_VERSIONS.iter().filter(move |(.., releases)| releases.contains(release))
    }

    /// As files spell it.
    pub(crate) fn name(self) -> &'static str {
        CONFIG_VERSIONS.iter().find(|(version, ..)| *version == self).map_or("", |(_, name, ..)| name)
    }

    /// Whether plugins can be enabled at many points at once.
    pub(crate) fn has_multi_point(self) -> bool {
        self >= Self::V1Beta3
    }

    /// Whether an enabled plugin replaces the default of its name (since v1beta2), instead of following the defaults.
    pub(crate) fn replaces_in_place(self) -> bool {
        self >= Self::V1Beta2
    }
}
