//! What allocated devices consume of shared counters. Upstream: `checkAvailableCounters`.

use std::collections::BTreeMap;

use crate::api::resource::{CounterSet, Device};
use crate::cluster::Amount;
use crate::release::DeviceRules;

use super::DeviceId;
use super::capacity::amount;
use super::pool::{Pool, PoolDevice};

/// The place of a counter, as set and name.
type CounterId<'a> = (&'a str, &'a str);

/// What is left of each counter, by place, computed as devices are tried.
pub(super) struct Counters<'a> {
    rules: DeviceRules,
    left: BTreeMap<String, BTreeMap<CounterId<'a>, Amount>>,
}

impl<'a> Counters<'a> {
    /// Starts without any place.
    pub(super) fn new(rules: DeviceRules) -> Self {
        Self { rules, left: BTreeMap::new() }
    }

    /// Consumes a device's counters, if every one has enough left.
    pub(super) fn take(&mut self, pool: &Pool<'a>, device: &PoolDevice<'a>, is_allocated: impl Fn(DeviceId<'a>) -> bool) -> bool {
        let place = self.place(device);
        if !self.left.contains_key(&place) {
            let left = self.fill(pool, device, is_allocated);
            self.left.insert(place.clone(), left);
        }
        self.change(device, |left, taken| left - taken);
        let enough = self.left[&place].values().all(|left| *left >= Amount::default());
        if !enough {
            self.give_back(device);
        }
        enough
    }

    pub(super) fn give_back(&mut self, device: &PoolDevice<'a>) {
        self.change(device, |left, taken| left + taken);
    }

    /// Whether the device's counters suffice, less what allocated devices of its slice consume.
    pub(super) fn suffice(device: &PoolDevice<'a>, is_used: impl Fn(DeviceId<'a>) -> bool) -> bool {
        let mut left = BTreeMap::new();
        add_sets(&mut left, device.slice.spec.shared_counters.iter().flatten());
        for other in device.slice.spec.devices.iter().flatten().filter(|other| is_used((device.id.0, device.id.1, &other.name))) {
            consume(&mut left, other, |left, taken| left - taken);
        }
        let mut wanted = device.device.consumes_counters.iter().flatten().flat_map(|consumption| {
            let set = consumption.counter_set.as_str();
            consumption.counters.iter().map(move |(name, counter)| ((set, name.as_str()), amount(&counter.value)))
        });
        wanted.all(|(id, wanted)| left.get(&id).is_some_and(|left| *left >= wanted))
    }

    /// The place of a device's counters: its slice, all pools of one name, or one pool.
    fn place(&self, device: &PoolDevice<'_>) -> String {
        let (driver, pool, _) = device.id;
        match self.rules.pools_count() {
            true if self.rules.mixes_drivers() => pool.to_owned(),
            true => format!("{driver}/{pool}"),
            false => device.slice.metadata.name.clone().unwrap_or_default(),
        }
    }

    fn fill(
        &self,
        pool: &Pool<'a>,
        device: &PoolDevice<'a>,
        is_allocated: impl Fn(DeviceId<'a>) -> bool,
    ) -> BTreeMap<CounterId<'a>, Amount> {
        let mut left = BTreeMap::new();
        let slices = if self.rules.pools_count() {
            add_sets(&mut left, pool.counter_sets.iter().copied());
            pool.slices.iter().chain(&pool.elsewhere).copied().collect()
        } else {
            add_sets(&mut left, device.slice.spec.shared_counters.iter().flatten());
            vec![device.slice]
        };
        for taken in slices.iter().flat_map(|slice| slice.spec.devices.iter().flatten()) {
            if is_allocated((pool.driver, pool.name, &taken.name)) {
                consume(&mut left, taken, |left, taken| left - taken);
            }
        }
        left
    }

    fn change(&mut self, device: &PoolDevice<'a>, change: impl Fn(Amount, Amount) -> Amount) {
        if let Some(left) = self.left.get_mut(&self.place(device)) {
            consume(left, device.device, change);
        }
    }
}

fn add_sets<'a>(left: &mut BTreeMap<CounterId<'a>, Amount>, sets: impl Iterator<Item = &'a CounterSet>) {
    for set in sets {
        left.extend(set.counters.iter().map(|(name, counter)| ((set.name.as_str(), name.as_str()), amount(&counter.value))));
    }
}

/// Subtracts or adds what a device consumes; a counter that no set has is ignored, as upstream does.
fn consume<'a>(left: &mut BTreeMap<CounterId<'a>, Amount>, device: &'a Device, change: impl Fn(Amount, Amount) -> Amount) {
    for consumption in device.consumes_counters.iter().flatten() {
        for (name, counter) in &consumption.counters {
            if let Some(left) = left.get_mut(&(consumption.counter_set.as_str(), name.as_str())) {
                *left = change(*left, amount(&counter.value));
            }
        }
    }
}
