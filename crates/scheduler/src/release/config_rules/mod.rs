//! What differs between releases in how they read a KubeSchedulerConfiguration and make profiles from it.

mod arguments;
mod decoding;
mod validation;

use crate::Release;

/// The rules of one release, by subject: decoding, validation, arguments of plugins, and here the profiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfigRules {
    minor: u16,
}

impl ConfigRules {
    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }

    /// PreFilter's plugins of v1beta2, where they are not the default profile's (`apis/config/v1beta2/default_plugins.go`, since 1.23).
    pub(crate) fn v1beta2_prefilters(self) -> Option<&'static [&'static str]> {
        const V1BETA2_PREFILTERS: &[&str] = &[
            "NodeResourcesFit",
            "NodePorts",
            "VolumeRestrictions",
            "PodTopologySpread",
            "InterPodAffinity",
            "VolumeBinding",
            "VolumeZone",
            "NodeAffinity",
        ];
        (self.minor >= 23).then_some(V1BETA2_PREFILTERS)
    }
}

rules_of! {
    ConfigRules, self, minor = self.minor;

    /// Whether the plugins of a file are configured (`scheduler.go` New, since 1.18); before, the profile is the default one.
    configures_plugins: bool = minor >= 18;
    /// Whether the QueueSort plugin is looked up before the profile is created (`profile/profile.go` NewMap, 1.18 to 1.22).
    looks_up_queue_sort_first: bool = (18..=22).contains(&minor);
    /// Whether each profile needs exactly one QueueSort plugin (`framework/runtime/framework.go`, since 1.23).
    counts_queue_sort: bool = minor >= 23;
    /// Whether the sum of the weights of scores is checked (`framework/runtime/framework.go` getScoreWeights, since 1.22); before, while iterating over a
    /// Go map, whose order decides.
    checks_weights: bool = minor >= 22;
    /// Whether the sum ignores plugins that do not score (getScoreWeights, since 1.23).
    sums_weights_of_scores_alone: bool = minor >= 23;
    /// Whether a plugin's weight is that of the last extension point it is enabled at (`framework.go` pluginsNeeded, up to 1.21).
    last_point_weighs: bool = minor <= 21;
    /// Whether SchedulingGates is the first of MultiPoint's defaults (`apis/config/v1/default_plugins.go`, since 1.27); in 1.26 it is the last.
    scheduling_gates_first: bool = minor >= 27;
    /// The gate that enables GangScheduling by default (`apis/config/v1/default_plugins.go`: another one since 1.37).
    gang_scheduling_gate: &'static str = if minor >= 37 { "GenericWorkload" } else { "GangScheduling" };
}
