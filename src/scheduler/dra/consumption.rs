//! What allocated devices take: counters they share with others, and capacity of devices that several claims may have.
//! Upstream: `checkAvailableCounters`, `structured/internal/*/consumable_capacity.go`.

use std::collections::{BTreeMap, HashMap};

use crate::cluster::Amount;
use crate::kube::api::resource::v1::{CapacityRequestPolicy, CapacityRequirements, CounterSet, Device, DeviceCapacity};
use crate::kube::apimachinery::pkg::api::resource::Quantity;

use super::pool::{Pool, PoolDevice};
use super::{DeviceId, Variant};

/// Where counters are, then their set and name.
type CounterId<'a> = (&'a str, &'a str);

/// Counters: what is left of each, place by place as devices are looked at.
pub struct Counters<'a> {
    variant: Variant,
    left: BTreeMap<String, BTreeMap<CounterId<'a>, Amount>>,
}

impl<'a> Counters<'a> {
    /// Nothing is looked at yet.
    pub fn new(variant: Variant) -> Self {
        Self { variant, left: BTreeMap::new() }
    }

    /// Takes what a device consumes, if every counter of its place has enough of it left.
    pub fn take(&mut self, pool: &Pool<'a>, device: &PoolDevice<'a>, is_allocated: impl Fn(DeviceId<'a>) -> bool) -> bool {
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

    /// Gives it back.
    pub fn give_back(&mut self, device: &PoolDevice<'a>) {
        self.change(device, |left, taken| left + taken);
    }

    /// Up to 1.33 only what the device itself consumes must be there, less what devices of the slice took that are in use.
    pub fn suffice(device: &PoolDevice<'a>, is_used: impl Fn(DeviceId<'a>) -> bool) -> bool {
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

    /// Counters belong to a slice up to 1.34, and to all pools of one name since.
    fn place(&self, device: &PoolDevice<'_>) -> String {
        if self.variant.pools_count() { device.id.1.to_owned() } else { device.slice.metadata.name.clone().unwrap_or_default() }
    }

    fn fill(
        &self,
        pool: &Pool<'a>,
        device: &PoolDevice<'a>,
        is_allocated: impl Fn(DeviceId<'a>) -> bool,
    ) -> BTreeMap<CounterId<'a>, Amount> {
        let mut left = BTreeMap::new();
        let slices = if self.variant.pools_count() {
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

/// Counts what a device consumes; a counter that no set has is passed over, as upstream does.
fn consume<'a>(left: &mut BTreeMap<CounterId<'a>, Amount>, device: &'a Device, change: impl Fn(Amount, Amount) -> Amount) {
    for consumption in device.consumes_counters.iter().flatten() {
        for (name, counter) in &consumption.counters {
            if let Some(left) = left.get_mut(&(consumption.counter_set.as_str(), name.as_str())) {
                *left = change(*left, amount(&counter.value));
            }
        }
    }
}

/// Amounts of capacity by name.
pub type Amounts = BTreeMap<String, Amount>;

/// Consumed capacity by device.
pub type Consumed<'a> = HashMap<DeviceId<'a>, Amounts>;

/// Whether a device has the capacity that is asked for, less what was `allocated` before and what the search itself took (`CmpRequestOverCapacity`).
pub fn has_capacity(device: &Device, asked: Option<&CapacityRequirements>, allocated: Option<&Amounts>, taken: Option<&Amounts>) -> bool {
    let capacities = device.capacity.as_ref();
    let unknown = |name: &String| capacities.is_none_or(|capacities| !capacities.contains_key(name));
    if asked.and_then(|asked| asked.requests.as_ref()).is_some_and(|asked| asked.keys().any(unknown)) {
        return false;
    }
    let before = |name: &String, of: Option<&Amounts>| of.and_then(|of| of.get(name)).copied().unwrap_or_default();
    consumption(device, asked).iter().zip(capacities.into_iter().flatten()).all(|((name, wanted), (_, capacity))| {
        let violates = capacity.request_policy.as_ref().is_some_and(|policy| violates(*wanted, policy));
        !violates && before(name, allocated) + before(name, taken) + *wanted <= amount(&capacity.value)
    })
}

/// What each capacity of a device would give for a request (`GetConsumedCapacityFromRequest`).
pub fn consumption(device: &Device, asked: Option<&CapacityRequirements>) -> Amounts {
    let asked = |name: &str| asked.and_then(|asked| asked.requests.as_ref()?.get(name));
    device.capacity.iter().flatten().map(|(name, capacity)| (name.clone(), rounded(asked(name), capacity))).collect()
}

/// Whether several claims may have the device.
pub fn is_shareable(device: &Device) -> bool {
    device.allow_multiple_allocations == Some(true)
}

/// A request rounded up to what the policy allows; without one, its default or all there is.
fn rounded(asked: Option<&Quantity>, capacity: &DeviceCapacity) -> Amount {
    let policy = capacity.request_policy.as_ref();
    let Some(asked) = asked.map(amount) else {
        return policy.and_then(|policy| policy.default.as_ref()).map_or_else(|| amount(&capacity.value), amount);
    };
    let Some(policy) = policy else { return asked };
    if let Some(range) = &policy.valid_range {
        let least = amount(&range.min);
        let Some(step) = range.step.as_ref().map(amount).filter(|_| asked >= least) else { return asked.max(least) };
        let (above, step) = (asked.value() - least.value(), step.value().max(1));
        return Amount::from_units(least.value() + step * ((above + step - 1) / step));
    }
    policy.valid_values.iter().flatten().map(amount).find(|valid| asked <= *valid).unwrap_or(asked)
}

fn violates(taken: Amount, policy: &CapacityRequestPolicy) -> bool {
    if policy.default.as_ref().is_some_and(|default| amount(default) == taken) {
        return false;
    }
    if let Some(range) = &policy.valid_range {
        let off_step =
            range.step.as_ref().is_some_and(|step| (taken.value() - amount(&range.min).value()) % amount(step).value().max(1) != 0);
        return range.max.as_ref().is_some_and(|most| taken > amount(most)) || off_step;
    }
    policy.valid_values.as_ref().is_some_and(|valid| !valid.is_empty() && !valid.iter().any(|valid| amount(valid) == taken))
}

/// A quantity, exactly.
pub fn amount(quantity: &Quantity) -> Amount {
    Amount::parse(&quantity.0).unwrap_or_default()
}
