//! Compatibility groups: devices that consume one counter set together must have one in common (DRADeviceCompatibilityGroups, 1.37).
//! Upstream: `structured/internal/experimental/compatibility_groups.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::DeviceId;
use super::pool::{Pool, PoolDevice};

/// A counter set: its driver, pool and name.
type Set<'a> = (&'a str, &'a str, &'a str);

/// The groups that all devices of a counter set have in common; empty where none of them has any.
type Common<'a> = BTreeSet<&'a str>;

/// The counter sets as they were before a device was added.
#[derive(Default)]
pub(super) struct Before<'a>(Vec<(Set<'a>, Option<Common<'a>>)>);

/// The groups of counter sets that devices consume.
#[derive(Default)]
pub(super) struct Groups<'a> {
    common: BTreeMap<Set<'a>, Common<'a>>,
    /// Pools whose allocated devices are added.
    begun: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Groups<'a> {
    /// Adds a device; `None`: it has no group in common with those added before.
    pub(super) fn join(
        &mut self,
        pool: &Pool<'a>,
        device: &PoolDevice<'a>,
        is_allocated: impl Fn(DeviceId<'a>) -> bool,
    ) -> Option<Before<'a>> {
        self.begin(pool, is_allocated);
        let mut before = Before::default();
        for (name, groups) in device.groups() {
            let set = (pool.driver, pool.name, name);
            let own: Common = groups.iter().map(String::as_str).collect();
            let known = self.common.get(&set).cloned();
            let common = match &known {
                None => Some(own),
                Some(known) if known.is_empty() && own.is_empty() => Some(own),
                Some(known) => Some(known.intersection(&own).copied().collect::<Common>()).filter(|common| !common.is_empty()),
            };
            let Some(common) = common else {
                self.restore(before);
                return None;
            };
            before.0.push((set, known));
            self.common.insert(set, common);
        }
        Some(before)
    }

    /// Restores counter sets.
    pub(super) fn restore(&mut self, before: Before<'a>) {
        for (set, known) in before.0.into_iter().rev() {
            match known {
                Some(known) => self.common.insert(set, known),
                None => self.common.remove(&set),
            };
        }
    }

    /// Adds the devices of a pool that are allocated already.
    fn begin(&mut self, pool: &Pool<'a>, is_allocated: impl Fn(DeviceId<'a>) -> bool) {
        if !self.begun.insert((pool.driver, pool.name)) {
            return;
        }
        for device in pool.devices().chain(pool.devices_elsewhere()).filter(|device| is_allocated(device.id)) {
            for (name, groups) in device.groups() {
                let own: Common = groups.iter().map(String::as_str).collect();
                let known = self.common.entry((pool.driver, pool.name, name)).or_insert_with(|| own.clone());
                if !known.is_empty() && !own.is_empty() {
                    *known = known.intersection(&own).copied().collect();
                }
            }
        }
    }
}
