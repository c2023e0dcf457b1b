//! What differs in the arguments of plugins: `apis/config/validation/validation_pluginargs.go` since 1.20, before that each plugin's own file.

use super::ConfigRules;

impl ConfigRules {
    /// The prefix of the error that a plugin cannot be created (`framework/runtime/framework.go` NewFramework).
    pub(crate) fn initializing(self) -> &'static str {
        if self.minor <= 19 { "error initializing" } else { "initializing" }
    }

    /// Whether all errors of arguments are reported, each with its field (since 1.21); before, the first one, worded differently.
    pub(crate) fn reports_fields_of_arguments(self) -> bool {
        self.minor >= 21
    }

    /// The error for a hardPodAffinityWeight out of range.
    pub(crate) fn hard_pod_affinity_range(self) -> &'static str {
        if self.minor <= 20 { "not in valid range [0-100]" } else { "not in valid range [0, 100]" }
    }

    /// Whether NodeAffinity takes `addedAffinity` (since 1.20).
    pub(crate) fn takes_added_affinity(self) -> bool {
        self.minor >= 20
    }

    /// Whether errors of `addedAffinity` show the whole list, in a wording not known here (1.20).
    pub(crate) fn shows_whole_added_affinity(self) -> bool {
        self.minor == 20
    }

    /// Whether PodTopologySpread takes `defaultingType` (since 1.20).
    pub(crate) fn takes_defaulting_type(self) -> bool {
        self.minor >= 20
    }

    /// Whether an invalid `defaultingType` is reported as not supported (since 1.21), not as invalid.
    pub(crate) fn defaulting_type_is_unsupported(self) -> bool {
        self.minor >= 21
    }

    /// The error for a maxSkew that is too small.
    pub(crate) fn max_skew_range(self) -> &'static str {
        if self.minor <= 20 { "must be greater than zero" } else { "not in valid range (0, inf)" }
    }

    /// Whether VolumeBinding takes arguments (since 1.19).
    pub(crate) fn volume_binding_takes_arguments(self) -> bool {
        self.minor >= 19
    }

    /// Whether VolumeBinding takes a timeout of 0 (since 1.21).
    pub(crate) fn takes_zero_bind_timeout(self) -> bool {
        self.minor >= 21
    }

    /// Whether VolumeBinding takes a shape (since 1.22).
    pub(crate) fn takes_volume_shape(self) -> bool {
        self.minor >= 22
    }

    /// The gate that VolumeBinding's shape requires (another one since 1.33).
    pub(crate) fn volume_shape_gate(self) -> &'static str {
        if self.minor >= 33 { "StorageCapacityScoring" } else { "VolumeCapacityPriority" }
    }

    /// Whether DynamicResources takes `filterTimeout` (since 1.34).
    pub(crate) fn takes_filter_timeout(self) -> bool {
        self.minor >= 34
    }

    /// Whether DynamicResources takes `bindingTimeout` (since 1.35).
    pub(crate) fn takes_binding_timeout(self) -> bool {
        self.minor >= 35
    }

    /// Whether the resources that NodeResourcesFit ignores are checked (`noderesources/fit.go` validateFitArgs, since 1.19).
    pub(crate) fn checks_ignored_resources(self) -> bool {
        self.minor >= 19
    }

    /// Whether NodeResourcesFit has a scoring strategy and NodeResourcesBalancedAllocation its resources (`noderesources`, since 1.22).
    pub(crate) fn takes_scoring_strategy(self) -> bool {
        self.minor >= 22
    }

    /// Whether validation names the strategies there are, and the paths below `scoringStrategy` contain it (validateResources, since 1.25).
    pub(crate) fn validates_scoring_strategy(self) -> bool {
        self.minor >= 25
    }

    /// Whether `requestedToCapacityRatio` must be given exactly where the strategy is that, and is part of its shape's path (since 1.36).
    pub(crate) fn validates_capacity_ratio(self) -> bool {
        self.minor >= 36
    }

    /// Whether a strategy's shape without points is rejected (since 1.23).
    pub(crate) fn refuses_empty_shape(self) -> bool {
        self.minor >= 23
    }

    /// Which values of a shape must be sorted.
    pub(crate) fn sorted_values(self) -> &'static str {
        if self.minor >= 34 { "values" } else { "utilization values" }
    }

    /// Whether the scores of a shape are multiplied by 10 before they are checked (`requested_to_capacity_ratio.go`, 1.18).
    pub(crate) fn checks_multiplied_scores(self) -> bool {
        self.minor == 18
    }

    /// Whether LeastAllocated and MostAllocated take arguments (`noderesources/least_allocated.go`, `most_allocated.go`, since 1.19).
    pub(crate) fn allocated_scores_take_arguments(self) -> bool {
        self.minor >= 19
    }

    /// Whether an absent weight of RequestedToCapacityRatio is 1 (`v1beta1/defaults.go`, since 1.22).
    pub(crate) fn defaults_capacity_ratio_weights(self) -> bool {
        self.minor >= 22
    }

    /// Whether the weights of RequestedToCapacityRatio are checked (`requested_to_capacity_ratio.go`, since 1.19).
    pub(crate) fn checks_capacity_ratio_weights(self) -> bool {
        self.minor >= 19
    }
}
