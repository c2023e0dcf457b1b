//! Which rules sum a pod's requests: data of a release, applied by `request_sums`.

/// Which of the rules for summing requests apply (scheduler-facing gates resolved).
/// Sources: `schedulercache/node_info.go` (1.9–1.15), `nodeinfo/node_info.go` (1.16–1.18), `framework/types.go` (1.19–1.37),
/// `component-helpers/resource/helpers.go` (1.32–1.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRules {
    pub(crate) sums: RequestSums,
    /// Names with `kubernetes.io/` or `attachable-volumes-` are tracked (since 1.11); before, only `alpha.kubernetes.io/nvidia-gpu` is.
    pub(crate) native_scalars: bool,
    /// A zero of an init container counts as a requested resource (since 1.22; before, `SetMaxResource` took only larger amounts).
    pub(crate) zero_scalars: bool,
    /// Sidecars are added to the regular containers (since 1.28).
    pub(crate) sidecars: bool,
    /// For scores, sidecars of pods on nodes are not added to the regular containers, and a candidate with sidecars gets the defaults as a whole
    /// (1.28–1.31).
    pub(crate) sidecars_scored_apart: bool,
    /// The sums with defaults for scores of the incoming pod respect the gates of pod-level resources and resizes (up to 1.32).
    pub(crate) gates_in_default_scores: bool,
    /// How in-place resizes change requests.
    pub(crate) resize: ResizeRules,
    /// `spec.overhead` counts (PodOverhead).
    pub(crate) overhead: bool,
    /// Init containers count in more than the filters' request of the incoming pod.
    pub(crate) init_containers: bool,
    /// `spec.resources` counts (PodLevelResources).
    pub(crate) pod_level: bool,
    /// The status of in-place resizes counts (InPlacePodVerticalScaling).
    pub(crate) in_place: bool,
    /// The same for the pod's own resources (InPlacePodLevelResourcesVerticalScaling).
    pub(crate) pod_level_in_place: bool,
    /// What the devices of pods consume on their nodes counts (DRANodeAllocatableResources).
    pub(crate) devices: bool,
    /// Ephemeral storage counts (LocalStorageCapacityIsolation, which schedulers ask for from 1.18 to 1.24).
    pub(crate) ephemeral_storage: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestSums {
    /// Each container is rounded separately; of pods on nodes only the regular containers count (1.9–1.15).
    RegularContainers,
    /// Each container is rounded separately (1.16–1.26).
    Containers,
    /// Amounts are added before they are rounded (`PodRequests`, since 1.27).
    Pods,
}

/// How in-place resizes change requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResizeRules {
    /// Sidecars can be resized (since 1.33).
    pub(crate) sidecars: bool,
    /// Which part of the status counts besides the spec.
    pub(crate) status: ResizeStatus,
    /// Spec, allocation and status are each summed, and the largest sum counts (`AggregateContainerRequests`, since 1.37).
    pub(crate) largest_sum: bool,
}

/// The parts of a container's status that count besides its spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResizeStatus {
    /// `allocatedResources` (up to 1.31).
    Allocated,
    /// `resources` (1.32).
    Actual,
    /// Both (since 1.33).
    Both,
}

#[cfg(test)]
impl RequestRules {
    /// The rules of 1.36 with most gates on, for tests that do not depend on them.
    pub(in crate::cluster) const FOR_TESTS: Self = Self {
        sums: RequestSums::Pods,
        native_scalars: true,
        zero_scalars: true,
        sidecars: true,
        sidecars_scored_apart: false,
        gates_in_default_scores: false,
        resize: ResizeRules { sidecars: true, status: ResizeStatus::Both, largest_sum: false },
        overhead: true,
        init_containers: true,
        pod_level: true,
        in_place: true,
        pod_level_in_place: false,
        devices: false,
        ephemeral_storage: true,
    };
}
