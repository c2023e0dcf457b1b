//! What differs between releases in pools of devices, the counters they share and the capacity they offer.
//! Upstream: `structured/internal/*/pools_*.go` and `consumable_capacity.go` (up to 1.33 `structured/pools.go`, `structured/allocator.go`).

use super::device_rules::{Channel, DeviceRules};

impl DeviceRules {
    /// Whether counters belong to a pool, and its slices are validated as a whole (since 1.36, in 1.35 not by the stable allocator); before, each
    /// slice has its own.
    pub(crate) fn pools_count(&self) -> bool {
        self.minor >= 36 || (self.minor == 35 && self.channel >= Channel::Incubating)
    }

    /// Whether counters of pools with one name and several drivers are mixed (up to 1.36).
    pub(crate) fn mixes_drivers(&self) -> bool {
        self.minor <= 36
    }

    /// Whether slices with counters are read whichever nodes their devices are for (since 1.37 only by the stable allocator).
    pub(crate) fn counters_anywhere(&self) -> bool {
        self.minor <= 36 || self.channel == Channel::Stable
    }

    /// Whether slices with counters are ignored where the gate DRAPartitionableDevices is off: in 1.33, and where counters belong to a pool.
    pub(crate) fn gates_slices_with_counters(&self) -> bool {
        self.pools_count() || self.minor == 33
    }

    /// Whether only the counters that the device itself consumes are checked, in its slice, and none without their gate (up to 1.33).
    /// Since 1.34 a device that consumes counters is rejected without the gate.
    pub(crate) fn checks_own_counters(&self) -> bool {
        self.minor <= 33
    }

    /// Whether slices with compatibility groups are ignored: since 1.37, without their gate.
    pub(crate) fn leaves_out_groups(&self) -> bool {
        self.minor >= 37 && !self.compatibility_groups
    }

    /// Whether a device published twice in a pool makes the pool invalid (since 1.32).
    pub(crate) fn validates_pools(&self) -> bool {
        self.minor >= 32
    }

    /// Whether, of slices of two generations of a pool, the first one decides what a request for all devices sees (1.31).
    pub(crate) fn mixes_generations(&self) -> bool {
        self.minor <= 31
    }

    /// Whether slices for other nodes complete a pool, and a newer generation among them makes it obsolete (since 1.35).
    pub(crate) fn counts_slices_of_other_nodes(&self) -> bool {
        self.minor >= 35
    }

    /// Whether incomplete or invalid pools are skipped, and a node is rejected because of an invalid one where the search fails without it (since
    /// 1.35).
    pub(crate) fn passes_over_invalid_pools(&self) -> bool {
        self.minor >= 35
    }

    /// Whether an invalid pool is an error as soon as it is reached (since 1.33); up to 1.32 once a device of it is selected.
    pub(crate) fn invalid_pools_fail(&self) -> bool {
        self.minor >= 33
    }

    /// Whether pools are sorted.
    pub(crate) fn sorts_pools(&self) -> bool {
        self.resumes()
    }

    /// Whether slices with binding conditions come last in their pool (up to 1.35).
    pub(crate) fn sorts_slices_by_binding(&self) -> bool {
        self.knows_capacity() && self.minor <= 35
    }

    /// Whether shared devices consume their counters, too (`IsDeviceAllocated`, since 1.36).
    pub(crate) fn shared_devices_consume(&self) -> bool {
        self.minor >= 36
    }

    /// Whether a device that is already shared does not consume counters again (since 1.35).
    pub(crate) fn shares_counters(&self) -> bool {
        self.minor >= 35 && self.consumable
    }

    /// Whether a device counts as shared where none of its capacity is consumed (since 1.37).
    pub(crate) fn shares_without_capacity(&self) -> bool {
        self.minor >= 37
    }

    /// Whether what a device consumes is not released where a taint, a constraint or capacity rejects the device (1.34, 1.35).
    pub(crate) fn leaks_refused(&self) -> bool {
        (34..=35).contains(&self.minor)
    }

    /// Whether a shared device that is deallocated keeps its counters, and its entry where it has no capacity (1.34, 1.35).
    pub(crate) fn leaks_shared(&self) -> bool {
        (34..=35).contains(&self.minor)
    }

    /// Whether a device that was shared before stays marked as shared once none of its capacity is consumed any more (since 1.36; up to 1.33 none is
    /// shared).
    pub(crate) fn remembers_shared(&self) -> bool {
        !(34..=35).contains(&self.minor)
    }

    /// Whether capacity is looked up at the device of the slice whose index is that of the device within its request (1.34).
    pub(crate) fn checks_capacity_by_number(&self) -> bool {
        self.minor == 34 && self.consumable
    }

    /// Whether a negative amount of capacity is an error (since 1.37).
    pub(crate) fn refuses_negative_capacity(&self) -> bool {
        self.minor >= 37
    }

    /// Whether rounding a request up beyond the largest integer saturates (up to 1.36); since 1.37 that is an error.
    pub(crate) fn saturates_capacity(&self) -> bool {
        self.minor <= 36
    }

    /// Whether ranges of capacity may count in thousandths (`useMilli`): since 1.37, with their gate.
    pub(crate) fn has_fractional_ranges(&self) -> bool {
        self.minor >= 37 && self.fractional
    }
}
