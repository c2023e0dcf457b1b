//! What differs in the arguments of plugins: `apis/config/validation/validation_pluginargs.go` since 1.20, before that each plugin's own file.

use super::ConfigRules;

impl ConfigRules {
    /// What the reason that a plugin cannot be made begins with (`framework/runtime/framework.go` NewFramework).
    pub(crate) fn initializing(self) -> &'static str {
        if self.minor <= 19 { "error initializing" } else { "initializing" }
    }

    /// Whether all faults of arguments are reported, each with its field (since 1.21); before, the first one, in words of its own.
    pub(crate) fn reports_fields_of_arguments(self) -> bool {
        self.minor >= 21
    }

    /// What is said of a hardPodAffinityWeight that is too small or too large.
    pub(crate) fn hard_pod_affinity_range(self) -> &'static str {
        if self.minor <= 20 { "not in valid range [0-100]" } else { "not in valid range [0, 100]" }
    }

    /// Whether NodeAffinity takes `addedAffinity` (since 1.20).
    pub(crate) fn takes_added_affinity(self) -> bool {
        self.minor >= 20
    }

    /// Whether the faults of `addedAffinity` are shown with the whole list, in words not known here (1.20).
    pub(crate) fn shows_whole_added_affinity(self) -> bool {
        self.minor == 20
    }

    /// Whether PodTopologySpread takes `defaultingType` (since 1.20).
    pub(crate) fn takes_defaulting_type(self) -> bool {
        self.minor >= 20
    }

    /// Whether a wrong `defaultingType` is an unsupported value (since 1.21), not an invalid one.
    pub(crate) fn defaulting_type_is_unsupported(self) -> bool {
        self.minor >= 21
    }

    /// What is said of a maxSkew that is too small.
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

    /// The gate that a shape of VolumeBinding needs (another one since 1.33).
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

    /// Whether `requestedToCapacityRatio` must be given just where the strategy is that, and is part of its shape's path (since 1.36).
    pub(crate) fn validates_capacity_ratio(self) -> bool {
        self.minor >= 36
    }

    /// Whether a strategy's shape without points is refused (since 1.23).
    pub(crate) fn refuses_empty_shape(self) -> bool {
        self.minor >= 23
    }

    /// What of a shape must be sorted.
    pub(crate) fn sorted_values(self) -> &'static str {
        if self.minor >= 34 { "values" } else { "utilization values" }
    }

    /// Whether the scores of a shape are multiplied by 10 before they are checked (`requested_to_capacity_ratio.go`, 1.18).
    pub(crate) fn checks_multiplied_scores(self) -> bool {
        self.minor == 18
    }

    /// Whether the scores by allocated resources take arguments (`noderesources/least_allocated.go`, `most_allocated.go`, since 1.19).
    pub(crate) fn allocated_scores_take_arguments(self) -> bool {
        self.minor >= 19
    }

    /// Whether a weight of RequestedToCapacityRatio that is not given is 1 (`v1beta1/defaults.go`, since 1.22).
    pub(crate) fn defaults_capacity_ratio_weights(self) -> bool {
        self.minor >= 22
    }

    /// Whether the weights of RequestedToCapacityRatio are checked (`requested_to_capacity_ratio.go`, since 1.19).
    pub(crate) fn checks_capacity_ratio_weights(self) -> bool {
        self.minor >= 19
    }
}
