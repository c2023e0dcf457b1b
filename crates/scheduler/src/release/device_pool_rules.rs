//! What differs between releases in pools of devices, the counters they share and the capacity they offer.
//! Upstream: `structured/internal/*/pools_*.go` and `consumable_capacity.go` (up to 1.33 `structured/pools.go`, `structured/allocator.go`).

use super::device_rules::{Channel, DeviceRules};

rules_of! {
    DeviceRules, self, minor = self.minor;

    /// Whether counters belong to a pool, and its slices are validated as a whole (since 1.36, in 1.35 not by the stable allocator); before, each
    /// slice has its own.
    pools_count: bool = minor >= 36 || (minor == 35 && self.channel >= Channel::Incubating);
    /// Whether counters of pools with one name and several drivers are mixed (up to 1.36).
    mixes_drivers: bool = minor <= 36;
    /// Whether slices with counters are read whichever nodes their devices are for (since 1.37 only by the stable allocator).
    counters_anywhere: bool = minor <= 36 || self.channel == Channel::Stable;
    /// Whether slices with counters are ignored where the gate DRAPartitionableDevices is off: in 1.33, and where counters belong to a pool.
    gates_slices_with_counters: bool = self.pools_count() || minor == 33;
    /// Whether only the counters that the device itself consumes are checked, in its slice, and none without their gate (up to 1.33).
    /// Since 1.34 a device that consumes counters is rejected without the gate.
    checks_own_counters: bool = minor <= 33;
    /// Whether slices with compatibility groups are ignored: since 1.37, without their gate.
    leaves_out_groups: bool = minor >= 37 && !self.compatibility_groups;
    /// Whether a device published twice in a pool makes the pool invalid (since 1.32).
    validates_pools: bool = minor >= 32;
    /// Whether, of slices of two generations of a pool, the first one decides what a request for all devices sees (1.31).
    mixes_generations: bool = minor <= 31;
    /// Whether slices for other nodes complete a pool, and a newer generation among them makes it obsolete (since 1.35).
    counts_slices_of_other_nodes: bool = minor >= 35;
    /// Whether incomplete or invalid pools are skipped, and a node is rejected because of an invalid one where the search fails without it (since
    /// 1.35).
    passes_over_invalid_pools: bool = minor >= 35;
    /// Whether an invalid pool is an error as soon as it is reached (since 1.33); up to 1.32 once a device of it is selected.
    invalid_pools_fail: bool = minor >= 33;
    sorts_pools: bool = self.resumes();
    /// Whether slices with binding conditions come last in their pool (up to 1.35).
    sorts_slices_by_binding: bool = self.knows_capacity() && minor <= 35;
    /// Whether shared devices consume their counters, too (`IsDeviceAllocated`, since 1.36).
    shared_devices_consume: bool = minor >= 36;
    /// Whether a device that is already shared does not consume counters again (since 1.35).
    shares_counters: bool = minor >= 35 && self.consumable;
    /// Whether a device counts as shared where none of its capacity is consumed (since 1.37).
    shares_without_capacity: bool = minor >= 37;
    /// Whether what a device consumes is not released where a taint, a constraint or capacity rejects the device (1.34, 1.35).
    leaks_refused: bool = (34..=35).contains(&minor);
    /// Whether a shared device that is deallocated keeps its counters, and its entry where it has no capacity (1.34, 1.35).
    leaks_shared: bool = (34..=35).contains(&minor);
    /// Whether a device that was shared before stays marked as shared once none of its capacity is consumed any more (since 1.36; up to 1.33 none is
    /// shared).
    remembers_shared: bool = !(34..=35).contains(&minor);
    /// Whether capacity is looked up at the device of the slice whose index is that of the device within its request (1.34).
    checks_capacity_by_number: bool = minor == 34 && self.consumable;
    /// Whether a negative amount of capacity is an error (since 1.37).
    refuses_negative_capacity: bool = minor >= 37;
    /// Whether rounding a request up beyond the largest integer saturates (up to 1.36); since 1.37 that is an error.
    saturates_capacity: bool = minor <= 36;
    /// Whether ranges of capacity may count in thousandths (`useMilli`): since 1.37, with their gate.
    has_fractional_ranges: bool = minor >= 37 && self.fractional;
}
