//! What differs in the arguments of plugins: `apis/config/validation/validation_pluginargs.go` since 1.20, before that each plugin's own file.

use super::ConfigRules;

rules_of! {
    ConfigRules, self, minor = self.minor;

    /// Whether NodeAffinity takes `addedAffinity` (since 1.20).
    takes_added_affinity: bool = minor >= 20;
    /// Whether PodTopologySpread takes `defaultingType` (since 1.20).
    takes_defaulting_type: bool = minor >= 20;
    /// Whether VolumeBinding takes arguments (since 1.19).
    volume_binding_takes_arguments: bool = minor >= 19;
    /// Whether VolumeBinding takes a timeout of 0 (since 1.21).
    takes_zero_bind_timeout: bool = minor >= 21;
    /// Whether VolumeBinding takes a shape (since 1.22).
    takes_volume_shape: bool = minor >= 22;
    /// The gate that VolumeBinding's shape requires (another one since 1.33).
    volume_shape_gate: &'static str = if minor >= 33 { "StorageCapacityScoring" } else { "VolumeCapacityPriority" };
    /// Whether DynamicResources takes `filterTimeout` (since 1.34).
    takes_filter_timeout: bool = minor >= 34;
    /// Whether DynamicResources takes `bindingTimeout` (since 1.35).
    takes_binding_timeout: bool = minor >= 35;
    /// Whether the resources that NodeResourcesFit ignores are checked (`noderesources/fit.go` validateFitArgs, since 1.19).
    checks_ignored_resources: bool = minor >= 19;
    /// Whether NodeResourcesFit has a scoring strategy and NodeResourcesBalancedAllocation its resources (`noderesources`, since 1.22).
    takes_scoring_strategy: bool = minor >= 22;
    /// Whether `requestedToCapacityRatio` must be given exactly where the strategy is that, and is part of its shape's path (since 1.36).
    validates_capacity_ratio: bool = minor >= 36;
    /// Whether a strategy's shape without points is rejected (since 1.23).
    refuses_empty_shape: bool = minor >= 23;
    /// Whether LeastAllocated and MostAllocated take arguments (`noderesources/least_allocated.go`, `most_allocated.go`, since 1.19).
    allocated_scores_take_arguments: bool = minor >= 19;
    /// Whether an absent weight of RequestedToCapacityRatio is 1 (`v1beta1/defaults.go`, since 1.22).
    defaults_capacity_ratio_weights: bool = minor >= 22;
    /// Whether the weights of RequestedToCapacityRatio are checked (`requested_to_capacity_ratio.go`, since 1.19).
    checks_capacity_ratio_weights: bool = minor >= 19;
}
