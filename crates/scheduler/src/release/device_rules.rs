//! What differs between releases in how devices are allocated: which of upstream's allocators searches, and how they differ.
//! Upstream, below `k8s.io/dynamic-resource-allocation`: `structured/allocator.go` (1.31–1.33),
//! `structured/internal/{stable,incubating,experimental}` (since 1.34); the docs here omit that prefix.

use crate::{Gates, Release};

/// One of a release's allocators; each supports everything that the ones before it support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Channel {
    /// Generally available features.
    Stable,
    /// Also features on by default.
    Incubating,
    Experimental,
}

/// An allocator of one release, with the features that are on.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "one per gate")]
pub(crate) struct DeviceRules {
    pub(super) minor: u16,
    pub(super) channel: Channel,
    pub admin_access: bool,
    pub prioritized_list: bool,
    pub partitionable: bool,
    pub taints: bool,
    pub taint_rules: bool,
    pub binding: bool,
    pub consumable: bool,
    list_types: bool,
    pub(super) fractional: bool,
    pub node_operations: bool,
    derived_attributes: bool,
    pub compatibility_groups: bool,
}

impl DeviceRules {
    /// The allocator of a release under its gates: the first that supports all features that are on.
    pub(crate) fn new(release: Release, gates: &Gates) -> Self {
        let on = |name: &str| gates.on(name);
        let minor = release.0;
        let status = on("DRAResourceClaimDeviceStatus");
        let mut rules = Self {
            minor,
            channel: Channel::Stable,
            admin_access: on("DRAAdminAccess"),
            prioritized_list: on("DRAPrioritizedList"),
            partitionable: on("DRAPartitionableDevices"),
            taints: on("DRADeviceTaints"),
            // Up to 1.34 the gate of taints enables the taint rules, then they have their own.
            taint_rules: on("DRADeviceTaints") && (minor <= 34 || on("DRADeviceTaintRules")),
            binding: on("DRADeviceBindingConditions") && status,
            consumable: on("DRAConsumableCapacity"),
            list_types: on("DRAListTypeAttributes"),
            fractional: on("DRAFractionalCapacityRange"),
            node_operations: on("DRAOptionalNodeOperations"),
            derived_attributes: on("DRADerivedAttributes"),
            compatibility_groups: on("DRADeviceCompatibilityGroups"),
        };
        let shared = rules.admin_access || rules.prioritized_list || rules.partitionable || rules.taints;
        let newer = rules.consumable || rules.binding || rules.fractional;
        let newest = rules.list_types || rules.node_operations || rules.derived_attributes || rules.compatibility_groups;
        rules.channel = match minor {
            ..=33 => Channel::Stable,
            // In 1.34 binding conditions and the status they need are two features, the latter on by default.
            34 if newer || status || on("DRADeviceBindingConditions") => Channel::Experimental,
            35 if newer => Channel::Experimental,
            34 | 35 if shared => Channel::Incubating,
            34 | 35 => Channel::Stable,
            // The allocator of 1.36 gets no attributes that are lists.
            37.. if newest => Channel::Experimental,
            _ if newer => Channel::Incubating,
            _ => Channel::Stable,
        };
        rules
    }
}

rules_of! {
    DeviceRules, self, minor = self.minor;

    /// Whether the allocator supports consumable capacity (its gate may be off).
    knows_capacity: bool = match minor {
        ..=35 => self.channel == Channel::Experimental,
        _ => self.channel >= Channel::Incubating,
    };
    /// Whether constraints compare attributes that are lists as sets (since 1.37). Selectors see lists since 1.36.
    compares_sets: bool = minor >= 37 && self.list_types;
    /// Whether selectors see attributes that are lists: with their gate, since 1.37 without it, too (`cel/compile.go`).
    sees_lists: bool = minor >= 37 || self.list_types;
    /// Whether selectors may use `device.allowMultipleAllocations`, whatever the gates (`cel/compile.go`, since 1.34).
    selects_multiple_allocations: bool = minor >= 34;
    /// Whether a constraint of distinct values keeps the value of every device (since 1.37): up to 1.36 one for each request, that of its newest
    /// device, and none once a device was removed.
    keeps_every_distinct_value: bool = minor >= 37;
    /// Whether a constraint of distinct values checks its first device, too (since 1.37).
    checks_first_distinct_value: bool = minor >= 37;
    /// Whether distinct values are compared as pointers, so that those of two devices always differ (1.34).
    compares_distinct_pointers: bool = minor == 34;
    /// Whether requests with derived attributes are rejected: since 1.37, without their gate.
    refuses_derived_attributes: bool = minor >= 37 && !self.derived_attributes;
    /// Whether admin access needs its gate (since 1.32); in 1.31 it is always granted.
    gates_admin_access: bool = minor >= 32;
    /// Whether devices allocated with admin access are not recorded (up to 1.33).
    forgets_admin_access: bool = minor <= 33;
    /// Whether a device's taints of every effect repel requests (up to 1.34): since 1.35 some effects do not.
    every_taint_repels: bool = minor <= 34;
    /// Whether a DeviceTaintRule without a selector matches all devices (`resourceslice/tracker/tracker.go`, up to 1.36); since 1.37 none.
    taint_rules_default_to_all: bool = minor <= 36;
    /// Whether a DeviceTaintRule may name a class and have selectors (`resourceslice/tracker/tracker.go`, up to 1.34).
    taint_rules_select: bool = minor <= 34;
    /// Whether a device with node operations to skip is rejected where the node cannot skip them (the newest allocator of 1.37).
    checks_node_operations: bool = minor >= 37 && self.channel == Channel::Experimental;
    /// Whether an allocated claim is checked for node operations that its node cannot skip (`plugins/dynamicresources/dynamicresources.go`, since
    /// 1.37).
    claims_may_skip_operations: bool = minor >= 37;
    /// Whether claims that a group's cycle just allocated count as available on every node (`plugins/dynamicresources/dynamicresources.go`, up to 1.36).
    pending_claims_are_available: bool = minor <= 36;
    /// Whether it reports a claim that would become too large, so that the alternatives of an earlier request are tried at once
    /// (`errAllocationResultMaxSizeExceeded`).
    reports_too_many_devices: bool = minor >= 36 || (minor >= 34 && self.channel >= Channel::Incubating);
    /// Whether the search checks how many devices a claim would hold (since 1.33).
    limits_devices_in_search: bool = minor >= 33;
    /// Whether exceeding the limit of a claim's devices rejects the request, not the claim as a whole (since 1.37).
    limits_devices_by_request: bool = minor >= 37;
    /// Whether the search for the next device of a request resumes after the previous one.
    resumes: bool = minor >= 36 && self.channel >= Channel::Incubating;
    /// Whether an alternative is matched with devices under the index of the previous one (up to 1.35).
    matches_as_previous_alternative: bool = minor <= 35;
    /// Whether the second device of an alternative that requests all is one of the first alternative's (up to 1.35).
    all_goes_on_with_first_alternative: bool = minor <= 35;
    /// Whether a request for all devices is rejected if there are none (since 1.33).
    all_needs_a_device: bool = minor >= 33;
    /// Whether a request for all devices keeps those it allocated when the rest fails (up to 1.33).
    all_keeps: bool = minor <= 33;
    /// Whether the whole search ends where a request for all devices cannot get one of them (up to 1.32).
    all_ends_search: bool = minor <= 32;
    /// Whether a request for all devices skips those it cannot get (1.31); where none is left for the rest, that is an error.
    all_passes_over_refused: bool = minor <= 31;
    /// Whether a request for all devices counts those that its class does not select, too (1.31).
    all_ignores_class: bool = minor <= 31;
    /// Whether a request for all devices counts those that lack the requested capacity, so that it then fails (since 1.37).
    all_counts_full_devices: bool = minor >= 37;
    /// Whether the allocator panics where a request for all devices includes one that consumes counters (1.35).
    all_crashes_on_counters: bool = minor == 35;
}
