//! Allocates a device within a search and deallocates it: `allocateDevice` and the function it returns to undo itself.

use crate::api::resource::{DeviceTaint, DeviceToleration};
use crate::cluster::Claim;
use crate::release::DeviceRules;

use super::attribute::lookup;
use super::capacity::{Amounts, consumption, has_capacity, is_shareable};
use super::counters::Counters;
use super::groups::Before;
use super::pool::{Pool, PoolDevice};
use super::request::{Alternative, problem};
use super::search::{DeviceResult, DeviceSearch, RequestIndices};
use super::{Fault, can_skip_operations};

/// What deallocating a device restores.
pub(super) struct DeviceUndo<'s> {
    /// How many devices the claim had before.
    before: usize,
    counted: bool,
    /// What was consumed of its capacity, if it is shareable, and whether it had an entry before.
    capacity: Option<(Amounts, bool)>,
    /// The compatibility groups before.
    groups: Before<'s>,
}

impl<'s> DeviceSearch<'s, '_> {
    /// Allocates a device for a request, if it is available. `must`: it is an error if a constraint rejects it.
    pub(super) fn take(
        &mut self,
        place: RequestIndices,
        number: usize,
        (pool, device): (&'s Pool<'s>, PoolDevice<'s>),
        must: bool,
    ) -> Result<Option<DeviceUndo<'s>>, Fault> {
        let rules = self.allocator.rules;
        let request = &self.requests[place.claim][place.request];
        let alternative = &request.alternatives[place.alternative];
        let (name, sub) = (request.name, request.prioritized.then_some(alternative.name));
        let (tolerations, wanted, admin) = (alternative.tolerations, alternative.capacity, alternative.admin_access);
        if self.is_taken(&device, place) {
            return Ok(None);
        }
        let counts = rules.partitionable && device.device.consumes_counters.as_ref().is_some_and(|all| !all.is_empty());
        if must && counts && rules.all_crashes_on_counters() {
            return Err(crash("the pool of a device that is one of all"));
        }
        if self.needs_skipping(&device) {
            return Ok(None);
        }
        let Some(before) = self.join_group(pool, &device) else { return Ok(None) };
        let Some(counted) = self.count(pool, &device) else {
            self.groups.restore(before);
            return Ok(None);
        };
        if rules.taints && device.device.taints.iter().flatten().any(|taint| repels(taint, tolerations, rules)) {
            self.refuse(&device, counted, before);
            return Ok(None);
        }
        if !self.constrain(place, &device)? {
            self.refuse(&device, counted, before);
            if must {
                let (driver, pool, of) = device.id;
                let what = format!("cannot add device {driver}/{pool}/{of} because a claim constraint would not be satisfied");
                return Err(problem(self.claims[place.claim], sub.unwrap_or(name), &what));
            }
            return Ok(None);
        }
        let shared = rules.consumable && is_shareable(device.device);
        let forgotten = admin && rules.forgets_admin_access();
        if !shared && !forgotten {
            self.in_use.entry(device.id).or_default().insert(place.claim);
        }
        if !self.has_room(number, &device, place)? {
            if !rules.leaks_refused() {
                self.unmark(place, &device, name, sub);
                self.refuse(&device, counted, before);
            }
            return Ok(None);
        }
        let capacity = shared.then(|| {
            // Capacity whose consumption is an error was rejected before.
            let taken = consumption(device.device, wanted, rules).unwrap_or_default();
            let known = self.consumed.contains_key(&device.id);
            let total = self.consumed.entry(device.id).or_default();
            for (name, taken) in &taken {
                let sum = total.entry(name.clone()).or_default();
                *sum = *sum + *taken;
            }
            (taken, known)
        });
        let found = &mut self.found[place.claim];
        let shared = capacity.as_ref().map(|(taken, _)| taken.clone());
        let undo = DeviceUndo { before: found.len(), counted, capacity, groups: before };
        let request = sub.map_or_else(|| name.to_owned(), |sub| format!("{name}/{sub}"));
        found.push(DeviceResult { request, device, admin_access: admin, shared });
        Ok(Some(undo))
    }

    /// Adds a device to all constraints, or to none.
    fn constrain(&mut self, place: RequestIndices, device: &PoolDevice<'s>) -> Result<bool, Fault> {
        let (allocator, request) = (self.allocator, &self.requests[place.claim][place.request]);
        let alternative = &request.alternatives[place.alternative];
        let (name, sub) = (request.name, request.prioritized.then_some(alternative.name));
        let constraints = &mut self.constraints[place.claim];
        for at in 0..constraints.len() {
            let lookup = |name: &str| lookup(name, alternative.derived, device, &allocator.selectors, allocator.rules);
            if !constraints[at].add(name, sub, device.id, lookup)? {
                constraints[..at].iter_mut().for_each(|constraint| constraint.remove(name, sub));
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn put_back(&mut self, place: RequestIndices, device: &PoolDevice<'s>, undo: DeviceUndo<'s>) {
        let rules = self.allocator.rules;
        let request = &self.requests[place.claim][place.request];
        let (name, sub) = (request.name, request.prioritized.then_some(request.alternatives[place.alternative].name));
        self.unmark(place, device, name, sub);
        self.found[place.claim].truncate(undo.before);
        self.groups.restore(undo.groups);
        let shared = undo.capacity.is_some();
        if let Some((taken, known)) = undo.capacity.filter(|(taken, _)| !(rules.leaks_shared() && taken.is_empty())) {
            self.give_back(device, &taken, known);
        }
        if undo.counted && !(shared && rules.leaks_shared()) {
            self.counters.give_back(device);
        }
    }

    /// Releases capacity. A device with nothing left consumed is removed, unless it had an entry before.
    fn give_back(&mut self, device: &PoolDevice<'s>, taken: &Amounts, known: bool) {
        let Some(total) = self.consumed.get_mut(&device.id) else { return };
        for (name, taken) in taken {
            let sum = total.entry(name.clone()).or_default();
            *sum = *sum - *taken;
        }
        if total.values().all(|sum| *sum == Default::default()) {
            self.consumed.remove(&device.id);
            if known && self.allocator.rules.remembers_shared() {
                self.consumed.insert(device.id, Amounts::new());
            }
        }
    }

    /// Removes the claim's mark from a device, and the device from the claim's constraints.
    fn unmark(&mut self, place: RequestIndices, device: &PoolDevice<'s>, name: &str, sub: Option<&str>) {
        self.constraints[place.claim].iter_mut().for_each(|constraint| constraint.remove(name, sub));
        if let Some(users) = self.in_use.get_mut(&device.id) {
            users.remove(&place.claim);
        }
    }

    fn refuse(&mut self, device: &PoolDevice<'s>, counted: bool, groups: Before<'s>) {
        self.groups.restore(groups);
        if counted && !self.allocator.rules.leaks_refused() {
            self.counters.give_back(device);
        }
    }

    /// Whether a device is not available: in use anywhere or, with admin access, in the same claim.
    pub(super) fn is_taken(&self, device: &PoolDevice<'s>, place: RequestIndices) -> bool {
        let users = self.in_use.get(&device.id);
        if self.requests[place.claim][place.request].alternatives[place.alternative].admin_access {
            return !self.allocator.rules.forgets_admin_access() && users.is_some_and(|users| users.contains(&place.claim));
        }
        users.is_some_and(|users| !users.is_empty()) || self.taken.is_dedicated(device.id)
    }

    /// Whether the device is shared already, so that its counters are consumed already.
    fn is_shared_already(&self, device: &PoolDevice<'s>) -> bool {
        let rules = self.allocator.rules;
        let had = self.taken.capacity(device.id).is_some() || (rules.shares_without_capacity() && self.taken.is_shared(device.id));
        rules.shares_counters() && is_shareable(device.device) && (had || self.consumed.contains_key(&device.id))
    }

    /// Whether the node would have to skip operations for a device and does not declare that it can.
    fn needs_skipping(&self, device: &PoolDevice<'s>) -> bool {
        let rules = self.allocator.rules;
        let skips = device.slice.spec.skip_node_operations.as_ref().is_some_and(|operations| !operations.is_empty());
        let can = || rules.node_operations && can_skip_operations(self.node);
        rules.checks_node_operations() && skips && !can()
    }

    /// Adds a device to the compatibility groups of its counter sets; `None`: they have none in common.
    fn join_group(&mut self, pool: &Pool<'s>, device: &PoolDevice<'s>) -> Option<Before<'s>> {
        let rules = self.allocator.rules;
        if !rules.compatibility_groups || self.is_shared_already(device) {
            return Some(Before::default());
        }
        let taken = self.taken;
        self.groups.join(pool, device, |id| taken.consumes(id, rules))
    }

    /// Consumes a device's counters, and returns whether it consumed any; `None`: they do not suffice.
    fn count(&mut self, pool: &Pool<'s>, device: &PoolDevice<'s>) -> Option<bool> {
        let rules = self.allocator.rules;
        if device.device.consumes_counters.as_ref().is_none_or(Vec::is_empty) {
            return Some(false);
        }
        if rules.checks_own_counters() {
            let is_used = |id| self.taken.is_dedicated(id) || self.in_use.get(&id).is_some_and(|users| !users.is_empty());
            return (!rules.partitionable || Counters::suffice(device, is_used)).then_some(false);
        }
        if !rules.partitionable {
            return None;
        }
        if self.is_shared_already(device) {
            return Some(false);
        }
        let taken = self.taken;
        self.counters.take(pool, device, |id| taken.consumes(id, rules)).then_some(true)
    }

    fn has_room(&self, number: usize, device: &PoolDevice<'s>, place: RequestIndices) -> Result<bool, Fault> {
        let rules = self.allocator.rules;
        if !rules.checks_capacity_by_number() {
            return self.has_capacity(device, place);
        }
        let other = device.slice.spec.devices.as_deref().and_then(|devices| devices.get(number));
        let other = other.ok_or_else(|| crash("a device beyond the last of a slice"))?;
        self.has_capacity(&PoolDevice::new((device.id.0, device.id.1), other, device.slice), place)
    }

    /// Whether a device has the requested capacity.
    pub(super) fn has_capacity(&self, device: &PoolDevice<'s>, place: RequestIndices) -> Result<bool, Fault> {
        let rules = self.allocator.rules;
        let alternative = &self.requests[place.claim][place.request].alternatives[place.alternative];
        if !rules.consumable {
            return Ok(true);
        }
        let (allocated, taken) = (self.taken.capacity(device.id), self.consumed.get(&device.id));
        has_capacity(device.device, alternative.capacity, allocated, taken, rules).map_err(|error| {
            let (driver, pool, name) = device.id;
            problem(self.claims[place.claim], alternative.name, &format!("checking capacity for device {driver}/{pool}/{name}: {error}"))
        })
    }

    /// The same, before the search.
    pub(super) fn could_have_capacity(&self, claim: &Claim, device: &PoolDevice<'s>, alternative: &Alternative<'_>) -> Result<bool, Fault> {
        let rules = self.allocator.rules;
        if !rules.consumable {
            return Ok(true);
        }
        let others = if rules.all_counts_full_devices() { None } else { self.taken.capacity(device.id) };
        has_capacity(device.device, alternative.capacity, others, None, rules)
            .map_err(|error| problem(claim, alternative.name, &format!("checking capacity for device {}: {error}", device.id.2)))
    }
}

/// Upstream accesses what does not exist, which panics and ends the scheduler.
fn crash(what: &str) -> Fault {
    Fault::Unknown(format!("kube-scheduler of this release crashes here, reaching for {what}"))
}

fn repels(taint: &DeviceTaint, tolerations: &[DeviceToleration], rules: DeviceRules) -> bool {
    (rules.every_taint_repels() || matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")) && !tolerated(taint, tolerations)
}

/// `ToleratesTaint`, for any of the tolerations.
fn tolerated(taint: &DeviceTaint, tolerations: &[DeviceToleration]) -> bool {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    tolerations.iter().any(|toleration| {
        let (effect, key) = (text(&toleration.effect), text(&toleration.key));
        (effect.is_empty() || effect == taint.effect)
            && (key.is_empty() || key == taint.key)
            && match toleration.operator.as_deref().unwrap_or_default() {
                "" | "Equal" => text(&toleration.value) == text(&taint.value),
                operator => operator == "Exists",
            }
    })
}
