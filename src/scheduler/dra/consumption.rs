//! What allocated devices take: counters they share with others, and capacity of devices that several claims may have.
//! Upstream: `checkAvailableCounters`, `structured/internal/*/consumable_capacity.go`.

use std::collections::{BTreeMap, HashMap};

use crate::cluster::Amount;
use crate::kube::api::resource::v1::{CapacityRequestPolicy, CapacityRequirements, Device, DeviceCapacity, ResourceSlice};
use crate::kube::apimachinery::pkg::api::resource::Quantity;

use super::pool::{Pool, PoolDevice};

/// Where a counter is: its pool or slice, its set, its name.
type CounterId<'a> = (String, &'a str, &'a str);

/// Counters: what is left of each, over all devices allocated.
#[derive(Default)]
pub struct Counters<'a> {
    left: BTreeMap<CounterId<'a>, Amount>,
}

impl<'a> Counters<'a> {
    /// The counters of the pools, less what allocated devices took.
    pub fn of(pools: &[Pool<'a>], release: u16, is_allocated: impl Fn(&PoolDevice<'a>) -> bool) -> Self {
        let mut counters = Self::default();
        for pool in pools {
            for slice in &pool.slices {
                for set in slice.spec.shared_counters.iter().flatten() {
                    for (name, counter) in &set.counters {
                        counters.left.insert((place(slice, release), &set.name, name), amount(&counter.value));
                    }
                }
            }
            for device in pool.devices().filter(|device| is_allocated(device)) {
                counters.change(&device, release, |left, taken| left - taken);
            }
        }
        counters
    }

    /// Takes what a device consumes, if every counter has enough of it left.
    pub fn take(&mut self, device: &PoolDevice<'a>, release: u16) -> bool {
        self.change(device, release, |left, taken| left - taken);
        let place = place(device.slice, release);
        let enough = self.left.iter().filter(|((of, ..), _)| *of == place).all(|(_, left)| *left >= Amount::default());
        if !enough {
            self.give_back(device, release);
        }
        enough
    }

    /// Gives it back.
    pub fn give_back(&mut self, device: &PoolDevice<'a>, release: u16) {
        self.change(device, release, |left, taken| left + taken);
    }

    fn change(&mut self, device: &PoolDevice<'a>, release: u16, change: impl Fn(Amount, Amount) -> Amount) {
        for consumption in device.device.consumes_counters.iter().flatten() {
            for (name, counter) in &consumption.counters {
                // A counter that no set has is passed over, as upstream does.
                if let Some(left) = self.left.get_mut(&(place(device.slice, release), consumption.counter_set.as_str(), name.as_str())) {
                    *left = change(*left, amount(&counter.value));
                }
            }
        }
    }
}

/// Counters belong to a slice up to 1.34 and to a pool since 1.35.
fn place(slice: &ResourceSlice, release: u16) -> String {
    let spec = &slice.spec;
    if release >= 35 { format!("{}/{}", spec.driver, spec.pool.name) } else { slice.metadata.name.clone().unwrap_or_default() }
}

/// Consumed capacity by device and name.
pub type Consumed<'a> = HashMap<(super::DeviceId<'a>, String), Amount>;

/// What each capacity of a device would give for a request; `None`: the request asks for more than there is, or for what is not.
pub fn consumption<'a>(
    device: &PoolDevice<'a>,
    asked: Option<&CapacityRequirements>,
    consumed: &Consumed<'a>,
) -> Option<Vec<(String, Amount)>> {
    let none = BTreeMap::new();
    let capacities = device.device.capacity.as_ref().unwrap_or(&none);
    let asked = asked.and_then(|asked| asked.requests.as_ref()).unwrap_or_else(|| empty());
    if asked.keys().any(|name| !capacities.contains_key(name)) {
        return None;
    }
    let mut taken = Vec::new();
    for (name, capacity) in capacities {
        let amount_taken = rounded(asked.get(name), capacity);
        if capacity.request_policy.as_ref().is_some_and(|policy| violates(amount_taken, policy)) {
            return None;
        }
        let before = consumed.get(&(device.id, name.clone())).copied().unwrap_or_default();
        if before + amount_taken > amount(&capacity.value) {
            return None;
        }
        taken.push((name.clone(), amount_taken));
    }
    Some(taken)
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

fn amount(quantity: &Quantity) -> Amount {
    Amount::parse(&quantity.0).unwrap_or_default()
}

fn empty() -> &'static BTreeMap<String, Quantity> {
    static EMPTY: BTreeMap<String, Quantity> = BTreeMap::new();
    &EMPTY
}
