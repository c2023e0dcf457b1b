//! Which of upstream's allocators searches, and what sets it apart from the others.
//! Upstream: `structured/allocator.go` (1.31–1.33), `structured/internal/{stable,incubating,experimental}` (since 1.34).

use crate::{Gates, Release};

/// One of the allocators a release has; each knows all that the ones before it know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Channel {
    /// What is generally available.
    Stable,
    /// What is on by default, too.
    Incubating,
    /// All there is.
    Experimental,
}

/// An allocator of one release, with the features that are on.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each field is a feature gate, or says what it is in `new`")]
#[allow(clippy::struct_excessive_bools, reason = "one per gate")]
pub(crate) struct Variant {
    pub release: u16,
    pub channel: Channel,
    pub admin_access: bool,
    pub prioritized_list: bool,
    pub partitionable: bool,
    pub taints: bool,
    pub taint_rules: bool,
    pub binding: bool,
    pub consumable: bool,
    pub list_types: bool,
    pub fractional: bool,
    pub node_operations: bool,
    pub derived_attributes: bool,
    pub compatibility_groups: bool,
}

impl Variant {
    /// The allocator of a release under its gates: the first that supports all features that are on.
    pub(crate) fn new(release: Release, gates: &Gates) -> Self {
        let on = |name: &str| gates.on(name);
        let status = on("DRAResourceClaimDeviceStatus");
        let mut variant = Self {
            release: release.0,
            channel: Channel::Stable,
            admin_access: on("DRAAdminAccess"),
            prioritized_list: on("DRAPrioritizedList"),
            partitionable: on("DRAPartitionableDevices"),
            taints: on("DRADeviceTaints"),
            // Up to 1.34 the rules come with the taints, then they have a gate of their own.
            taint_rules: on("DRADeviceTaints") && (release.0 <= 34 || on("DRADeviceTaintRules")),
            binding: on("DRADeviceBindingConditions") && status,
            consumable: on("DRAConsumableCapacity"),
            list_types: on("DRAListTypeAttributes"),
            fractional: on("DRAFractionalCapacityRange"),
            node_operations: on("DRAOptionalNodeOperations"),
            derived_attributes: on("DRADerivedAttributes"),
            compatibility_groups: on("DRADeviceCompatibilityGroups"),
        };
        let shared = variant.admin_access || variant.prioritized_list || variant.partitionable || variant.taints;
        let newer = variant.consumable || variant.binding || variant.fractional;
        let newest = variant.list_types || variant.node_operations || variant.derived_attributes || variant.compatibility_groups;
        variant.channel = match release.0 {
            ..=33 => Channel::Stable,
            // In 1.34 binding conditions and the status they need are two features, the latter on by default.
            34 if newer || status || on("DRADeviceBindingConditions") => Channel::Experimental,
            35 if newer => Channel::Experimental,
            34 | 35 if shared => Channel::Incubating,
            34 | 35 => Channel::Stable,
            // 1.36 does not tell its allocator of attributes that are lists.
            37.. if newest => Channel::Experimental,
            _ if newer => Channel::Incubating,
            _ => Channel::Stable,
        };
        variant
    }

    /// Whether it is one of the allocators that know consumable capacity (its gate may be off).
    pub(crate) fn knows_capacity(&self) -> bool {
        match self.release {
            ..=35 => self.channel == Channel::Experimental,
            _ => self.channel >= Channel::Incubating,
        }
    }

    /// Whether counters belong to a pool, and its slices are checked as a whole.
    pub(crate) fn pools_count(&self) -> bool {
        self.release >= 36 || (self.release == 35 && self.channel >= Channel::Incubating)
    }

    /// Whether attributes that are lists are compared as sets by constraints. (Selectors see lists since 1.36.)
    pub(crate) fn compares_sets(&self) -> bool {
        self.release >= 37 && self.list_types
    }

    /// Whether selectors see attributes that are lists.
    pub(crate) fn sees_lists(&self) -> bool {
        self.release >= 37 || self.list_types
    }

    /// Up to 1.36 counters of pools with one name and several drivers were mixed.
    pub(crate) fn mixes_drivers(&self) -> bool {
        self.release <= 36
    }

    /// Whether slices with counters are looked at wherever their devices are (since 1.37 only by the stable allocator).
    pub(crate) fn counters_anywhere(&self) -> bool {
        self.release <= 36 || self.channel == Channel::Stable
    }

    /// Whether a claim that becomes too large makes the alternatives of an earlier request be tried at once.
    pub(crate) fn tells_too_many(&self) -> bool {
        self.release >= 36 || (self.release >= 34 && self.channel >= Channel::Incubating)
    }

    /// Whether pools have an order of their own.
    pub(crate) fn sorts_pools(&self) -> bool {
        self.resumes()
    }

    /// Whether the next device of a request is looked for behind the one before.
    pub(crate) fn resumes(&self) -> bool {
        self.release >= 36 && self.channel >= Channel::Incubating
    }

    /// Up to 1.35 the second device of an alternative that wants all is one of the first alternative's,
    /// and an alternative is matched with the devices under the number of the one before.
    pub(crate) fn confuses_alternatives(&self) -> bool {
        self.release <= 35
    }

    /// Up to 1.33 a request for all devices keeps those it took when the rest fails.
    pub(crate) fn all_keeps(&self) -> bool {
        self.release <= 33
    }

    /// In 1.31 whether a pool is valid is not asked, admin access is always granted, a request for all devices counts those that its
    /// class is not for and passes over those it cannot have, and where nothing is left for the rest then, that is an error.
    pub(crate) fn is_first(&self) -> bool {
        self.release <= 31
    }

    /// Up to 1.33 nothing is said of devices taken with admin access.
    pub(crate) fn forgets_admin_access(&self) -> bool {
        self.release <= 33
    }

    /// In 1.34 and 1.35 what a device consumes is not given back where a taint, a constraint or capacity refuses it.
    pub(crate) fn leaks(&self) -> bool {
        (34..=35).contains(&self.release)
    }
}
