//! What differs in the arguments of plugins: `apis/config/validation/validation_pluginargs.go` since 1.20, before that each plugin's own file.

use super::ConfigRules;

impl ConfigRules {
    /// Whether NodeAffinity takes `addedAffinity` (since 1.20).
    pub(crate) fn takes_added_affinity(self) -> bool {
        self.minor >= 20
    }

    /// Whether PodTopologySpread takes `defaultingType` (since 1.20).
    pub(crate) fn takes_defaulting_type(self) -> bool {
        self.minor >= 20
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

    /// Whether `requestedToCapacityRatio` must be given exactly where the strategy is that, and is part of its shape's path (since 1.36).
    pub(crate) fn validates_capacity_ratio(self) -> bool {
        self.minor >= 36
    }

    /// Whether a strategy's shape without points is rejected (since 1.23).
    pub(crate) fn refuses_empty_shape(self) -> bool {
        self.minor >= 23
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
