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

/// When the sum of the weights of scores is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeightCheck {
    /// While iterating over a Go map, whose order decides.
    ByMapOrder,
    /// Before any point is filled.
    First,
    /// Before the bind plugins are counted.
    BeforeBinders,
    /// At the end.
    Last,
}

impl ConfigRules {
    /// Those of a release.
    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }

    /// Whether the plugins of a file are configured (`scheduler.go` New, since 1.18); before, the profile is the default one.
    pub(crate) fn configures_plugins(self) -> bool {
        self.minor >= 18
    }

    /// The prefix of the error that a profile cannot be created (`scheduler.go` New).
    pub(crate) fn creation_error(self) -> &'static str {
        match self.minor {
            ..=21 => "couldn't create scheduler using provider \"DefaultProvider\": ",
            22..=23 => "couldn't create scheduler: ",
            _ => "",
        }
    }

    /// Whether the QueueSort plugin is looked up before the profile is created (`profile/profile.go` NewMap, 1.18 to 1.22).
    pub(crate) fn looks_up_queue_sort_first(self) -> bool {
        (18..=22).contains(&self.minor)
    }

    /// The error for a profile with no or several QueueSort plugins (`framework/runtime/framework.go`, since 1.23).
    pub(crate) fn queue_sort_error(self, profile: &str, count: usize) -> Option<String> {
        match (count, self.minor) {
            (1, _) | (_, ..=22) => None,
            (_, ..=24) => Some(format!("one queue sort plugin required for profile with scheduler name {profile:?}")),
            _ => Some(format!("only one queue sort plugin required for profile with scheduler name {profile:?}, but got {count}")),
        }
    }

    /// The error for a profile without a Bind plugin (`framework/runtime/framework.go`; with the profile's name since 1.25).
    pub(crate) fn no_bind_plugin(self, profile: &str) -> String {
        match self.minor {
            ..=24 => "at least one bind plugin is needed".to_owned(),
            _ => format!("at least one bind plugin is needed for profile with scheduler name {profile:?}"),
        }
    }

    /// When weights are checked (`framework/runtime/framework.go` NewFramework, getScoreWeights).
    pub(crate) fn weight_check(self) -> WeightCheck {
        match self.minor {
            ..=21 => WeightCheck::ByMapOrder,
            22 => WeightCheck::First,
            23..=24 => WeightCheck::BeforeBinders,
            _ => WeightCheck::Last,
        }
    }

    /// The error for weights whose sum is too large (the same file).
    pub(crate) fn weight_overflow(self) -> &'static str {
        if self.minor >= 36 {
            "score plugins: total score of Score plugins could overflow"
        } else {
            "total score of Score plugins could overflow"
        }
    }

    /// Whether the sum ignores plugins that do not score (getScoreWeights, since 1.23).
    pub(crate) fn sums_weights_of_scores_alone(self) -> bool {
        self.minor >= 23
    }

    /// Whether a plugin's weight is that of the last extension point it is enabled at (`framework.go` pluginsNeeded, up to 1.21).
    pub(crate) fn last_point_weighs(self) -> bool {
        self.minor <= 21
    }

    /// Whether SchedulingGates is the first of MultiPoint's defaults (`apis/config/v1/default_plugins.go`, since 1.27); in 1.26 it is the last.
    pub(crate) fn scheduling_gates_first(self) -> bool {
        self.minor >= 27
    }

    /// The gate that enables GangScheduling by default (`apis/config/v1/default_plugins.go`: another one since 1.37).
    pub(crate) fn gang_scheduling_gate(self) -> &'static str {
        if self.minor >= 37 { "GenericWorkload" } else { "GangScheduling" }
    }

    /// PreFilter's plugins of v1beta2, where they are not the default profile's (`apis/config/v1beta2/default_plugins.go`, since 1.23).
    pub(crate) fn v1beta2_prefilters(self) -> Option<&'static [&'static str]> {
        const PREFILTERS: &[&str] = &[
            "NodeResourcesFit",
            "NodePorts",
            "VolumeRestrictions",
            "PodTopologySpread",
            "InterPodAffinity",
            "VolumeBinding",
            "VolumeZone",
            "NodeAffinity",
        ];
        (self.minor >= 23).then_some(PREFILTERS)
    }
}
