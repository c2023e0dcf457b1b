//! What differs between the releases in which drivers may allocate claims (1.26–1.31). Upstream: `plugins/dynamicresources/dynamicresources.go`.

use crate::Gates;

use super::rules::Rules;

/// Which of the claims that a node cannot use PostFilter may free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreedClaims {
    /// All, if one of as many first claims of the pod is WaitForFirstConsumer.
    AllIfOneWaits,
    /// Those with allocation mode WaitForFirstConsumer.
    Waiting,
    /// All.
    All,
}

/// When a pod with a chosen node waits for its drivers to allocate, and when for what they report about nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverWaits {
    /// To allocate once all have reported.
    OnceReady,
    /// The same, until the selected node is written.
    UntilSelected,
    /// The same; updates for them are written in PreBind.
    InPreBind,
}

impl Rules {
    /// Whether drivers may allocate claims (up to 1.31).
    pub(crate) fn drivers_allocate(&self) -> bool {
        self.release.0 <= 31
    }

    /// Whether a PodSchedulingContext of another pod ends the attempt in PreFilter (since 1.29); up to 1.28 the filter fails.
    pub(crate) fn foreign_context_ends_prefilter(&self) -> bool {
        self.release.0 >= 29
    }

    /// Whether PodSchedulingContexts are read (in 1.31 behind a gate).
    pub(crate) fn reads_scheduling_contexts(&self, gates: &Gates) -> bool {
        self.release.0 <= 30 || gates.on("DRAControlPlaneController")
    }

    /// Whether a claim of a control plane controller is rejected: in 1.31, without its gate.
    pub(crate) fn refuses_controllers(&self, gates: &Gates) -> bool {
        self.release.0 == 31 && !gates.on("DRAControlPlaneController")
    }

    /// Whether unallocated immediate claims are rejected whatever their class (up to 1.29); in 1.30 those that a driver allocates.
    pub(crate) fn refuses_every_immediate_claim(&self) -> bool {
        self.release.0 <= 29
    }

    /// Whether pods may share any claim (1.31); up to 1.30 those whose allocation is shareable.
    pub(crate) fn every_claim_is_shareable(&self) -> bool {
        self.release.0 == 31
    }

    /// Whether claims have device requests (1.31); up to 1.30 they name a ResourceClass.
    pub(crate) fn claims_request_devices(&self) -> bool {
        self.release.0 == 31
    }

    /// Whether a ResourceClass that does not exist rejects the pod in PreFilter (since 1.29); up to 1.28 the filter fails.
    pub(crate) fn missing_class_refuses_pod(&self) -> bool {
        self.release.0 >= 29
    }

    /// Whether the scheduler allocates named resources for classes with structured parameters (1.30).
    pub(crate) fn allocates_named_resources(&self) -> bool {
        self.release.0 == 30
    }

    /// Which claims PostFilter may deallocate.
    pub(crate) fn freed_claims(&self) -> FreedClaims {
        match self.release.0 {
            ..=29 => FreedClaims::AllIfOneWaits,
            30 => FreedClaims::Waiting,
            _ => FreedClaims::All,
        }
    }

    /// Whether PostFilter succeeds, so that no other plugin follows, where it requests deallocation of a claim (up to 1.29).
    pub(crate) fn freeing_claim_ends_post_filter(&self) -> bool {
        self.release.0 <= 29
    }

    /// What a pod waits for in Reserve and PreBind.
    pub(crate) fn driver_waits(&self) -> DriverWaits {
        match self.release.0 {
            ..=28 => DriverWaits::OnceReady,
            29 => DriverWaits::UntilSelected,
            _ => DriverWaits::InPreBind,
        }
    }
}
