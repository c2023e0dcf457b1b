//! What differs between releases in the claims of pods: which claims a pod has, those of its group, those created for extended resources, and what
//! their devices consume of a node. Upstream: `plugins/dynamicresources`.

use crate::api::resource::ResourceClaim;

use super::rules::Rules;

impl Rules {
    /// Whether a driver allocates a claim ("classic DRA": every claim up to 1.30, in 1.31 those whose spec names a controller), not the scheduler.
    pub(crate) fn driver_allocates(&self, claim: &ResourceClaim) -> bool {
        let controlled = claim.spec.controller.as_ref().is_some_and(|controller| !controller.is_empty());
        self.release.0 <= 30 || self.release.0 == 31 && controlled
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// Whether the claim created for an entry of a pod is named after both (`resourceclaim/resourceclaim.go` Name, up to 1.27); since 1.28 the pod's
    /// status names it.
    claims_are_named_after_pod: bool = minor <= 27;
    /// Whether a claim that may be a group's makes the scheduler panic where the pod has no group (`resourceclaim.go` IsForPod, 1.36).
    claim_of_no_group_crashes: bool = minor <= 36;
    /// Whether it is random which of several classes that name one extended resource serves it (`extended/util.go`, 1.34).
    extended_resource_class_is_random: bool = minor <= 34;
    /// Whether a node that lists an extended resource, even with amount zero, needs no devices for it; if devices are needed for another, they serve
    /// this one too (`extendeddynamicresources.go` filterExtendedResources, 1.34). Since 1.35 devices serve what a node has none of.
    listed_extended_resources_suffice: bool = minor <= 34;
    /// Whether the claim for extended resources has a request for each container and resource (the same file, 1.34); since 1.35 none that an init
    /// container shares with a later one.
    extended_resource_request_for_each_container: bool = minor <= 34;
    /// Whether every class has an implicit extended resource of its own name, also one that names another (`extendedresourcecache.go`, since 1.35),
    /// and pods that request such a resource request devices.
    every_class_has_implicit_resource: bool = minor >= 35;
    /// Whether what a device consumes of its node is looked up in slices of its driver that are for the node (`nodeallocatabledynamicresources.go`
    /// getDeviceFromSlices, since 1.37); in 1.36 by pool and name alone (getDeviceFromManager).
    node_allocatable_by_node_and_driver: bool = minor >= 37;
    /// Whether a pod is kept out of the queue until its claims exist (`dynamicresources.go` PreEnqueue, since 1.28).
    missing_claims_keep_out_of_queue: bool = minor >= 28;
    /// Whether nodes score by the alternatives of requests that they could serve (`dynamicresources.go` Score, since 1.35).
    scores_device_alternatives: bool = minor >= 35;
    /// Whether Score fails for a pod that has claims with devices and claims without: it expects devices for all of them (computeScore, 1.35).
    allocated_claims_fail_score: bool = minor == 35;
    /// Whether PostFilter reports nothing where it frees no claim (`dynamicresources.go` PostFilter, since 1.37); up to 1.36 it says why.
    idle_post_filter_is_silent: bool = minor >= 37;
    /// Whether pods on the node keep a claim whose devices take of it from the pod, other than claims that its group's cycle just allocated
    /// (`nodeallocatabledynamicresources.go` validateNodeAllocatableDRAClaimSharing, 1.36); since 1.37 any pod that the claim is kept for does.
    node_allocatable_sharing_by_node: bool = minor <= 36;
    /// Whether claims that have devices take of the node, too (the same file, since 1.37); in 1.36 those that get devices in this cycle.
    allocated_claims_take_of_node: bool = minor >= 37;
    /// Whether a claim whose devices take of the node must be named by a container (the same file, 1.36).
    node_allocatable_needs_container: bool = minor <= 36;
    /// Whether what a pod with such devices asks for as a whole is held against limits, too (validatePodLevelResourcesCoverDRA, since 1.37); in 1.36
    /// only requests, of pods without such devices, too (validatePodLevelRequestsCoverDRA).
    pod_level_limits_cover_devices: bool = minor >= 37;
    /// Whether devices take of a node by `nodeAllocatableResourceMappings` (1.36); since 1.37 by `nodeAllocatableResources`, which know overhead.
    node_allocatable_mappings: bool = minor <= 36;
}
