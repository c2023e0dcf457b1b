//! Taking a device into a search and putting it back: `allocateDevice` and the function it returns to undo itself.

use crate::kube::api::resource::v1::{DeviceTaint, DeviceToleration};

use super::Fault;
use super::consumption::{Amounts, Counters, consumption, has_capacity, is_shareable};
use super::pool::{Pool, PoolDevice};
use super::request::{Alternative, problem};
use super::search::{Found, Place, Search};

/// How to put a device back.
pub(super) struct Undo {
    /// How many devices the claim had before.
    before: usize,
    /// Whether its counters were taken.
    counted: bool,
    /// What was taken of its capacity, if several may have it, and whether anything was before.
    capacity: Option<(Amounts, bool)>,
}

impl<'s> Search<'s, '_> {
    /// Takes a device for a request, if it may be had. `must`: it is an error if a constraint refuses it.
    pub(super) fn take(
        &mut self,
        place: Place,
        number: usize,
        (pool, device): (&'s Pool<'s>, PoolDevice<'s>),
        must: bool,
    ) -> Result<Option<Undo>, Fault> {
        let variant = self.allocator.variant;
        let request = &self.requests[place.claim][place.request];
        let alternative = &request.alternatives[place.alternative];
        let (name, sub) = (request.name, request.prioritized.then_some(alternative.name));
        let (tolerations, wanted, admin) = (alternative.tolerations, alternative.capacity, alternative.admin_access);
        if self.is_taken(&device, place) {
            return Ok(None);
        }
        let counts = variant.partitionable && device.device.consumes_counters.as_ref().is_some_and(|all| !all.is_empty());
        if must && counts && variant.release == 35 {
            return Err(crash("the pool of a device that is one of all"));
        }
        let Some(counted) = self.count(pool, &device) else { return Ok(None) };
        if variant.taints && device.device.taints.iter().flatten().any(|taint| repels(taint, tolerations, variant.release)) {
            self.refuse(&device, counted);
            return Ok(None);
        }
        let constraints = &mut self.constraints[place.claim];
        if let Some(refusing) = constraints.iter_mut().position(|constraint| !constraint.add(name, sub, device.device, device.id)) {
            constraints[..refusing].iter_mut().for_each(|constraint| constraint.remove(name, sub));
            self.refuse(&device, counted);
            if must {
                let (driver, pool, of) = device.id;
                let what = format!("cannot add device {driver}/{pool}/{of} because a claim constraint would not be satisfied");
                return Err(problem(self.claims[place.claim], sub.unwrap_or(name), &what));
            }
            return Ok(None);
        }
        let shared = variant.consumable && is_shareable(device.device);
        let forgotten = admin && variant.forgets_admin_access();
        if !shared && !forgotten {
            self.in_use.entry(device.id).or_default().insert(place.claim);
        }
        if !self.has_room(number, &device, place)? {
            if !variant.leaks() {
                self.unmark(place, &device, name, sub);
                self.refuse(&device, counted);
            }
            return Ok(None);
        }
        let capacity = shared.then(|| {
            let taken = consumption(device.device, wanted);
            let known = self.consumed.contains_key(&device.id);
            let total = self.consumed.entry(device.id).or_default();
            for (name, taken) in &taken {
                let sum = total.entry(name.clone()).or_default();
                *sum = *sum + *taken;
            }
            (taken, known)
        });
        let found = &mut self.found[place.claim];
        let undo = Undo { before: found.len(), counted, capacity };
        found.push(Found { request: sub.map_or_else(|| name.to_owned(), |sub| format!("{name}/{sub}")), device });
        Ok(Some(undo))
    }

    /// Puts a device back.
    pub(super) fn put_back(&mut self, place: Place, device: &PoolDevice<'s>, undo: Undo) {
        let variant = self.allocator.variant;
        let request = &self.requests[place.claim][place.request];
        let (name, sub) = (request.name, request.prioritized.then_some(request.alternatives[place.alternative].name));
        self.unmark(place, device, name, sub);
        self.found[place.claim].truncate(undo.before);
        let shared = undo.capacity.is_some();
        // In 1.34 and 1.35 a device that is shared keeps its counters, and its entry where it has no capacity.
        if let Some((taken, known)) = undo.capacity.filter(|(taken, _)| !(variant.leaks() && taken.is_empty())) {
            self.give_back(device, &taken, known);
        }
        if undo.counted && !(shared && variant.leaks()) {
            self.counters.give_back(device);
        }
    }

    /// Gives capacity back. A device of which nothing is taken any more is forgotten, unless (since 1.36) it was known before.
    fn give_back(&mut self, device: &PoolDevice<'s>, taken: &Amounts, known: bool) {
        let Some(total) = self.consumed.get_mut(&device.id) else { return };
        for (name, taken) in taken {
            let sum = total.entry(name.clone()).or_default();
            *sum = *sum - *taken;
        }
        if total.values().all(|sum| *sum == Default::default()) {
            self.consumed.remove(&device.id);
            if known && !self.allocator.variant.leaks() {
                self.consumed.insert(device.id, Amounts::new());
            }
        }
    }

    /// Takes its claim off a device, and the device out of the claim's constraints.
    fn unmark(&mut self, place: Place, device: &PoolDevice<'s>, name: &str, sub: Option<&str>) {
        self.constraints[place.claim].iter_mut().for_each(|constraint| constraint.remove(name, sub));
        if let Some(users) = self.in_use.get_mut(&device.id) {
            users.remove(&place.claim);
        }
    }

    fn refuse(&mut self, device: &PoolDevice<'s>, counted: bool) {
        if counted && !self.allocator.variant.leaks() {
            self.counters.give_back(device);
        }
    }

    /// Whether a device is not to be had: in use anywhere or, with admin access, in the same claim.
    pub(super) fn is_taken(&self, device: &PoolDevice<'s>, place: Place) -> bool {
        let users = self.in_use.get(&device.id);
        if self.requests[place.claim][place.request].alternatives[place.alternative].admin_access {
            return !self.allocator.variant.forgets_admin_access() && users.is_some_and(|users| users.contains(&place.claim));
        }
        users.is_some_and(|users| !users.is_empty()) || self.taken.is_dedicated(device.id)
    }

    /// Takes the counters a device consumes, and says whether it took any; `None`: there is not enough of them.
    fn count(&mut self, pool: &Pool<'s>, device: &PoolDevice<'s>) -> Option<bool> {
        let variant = self.allocator.variant;
        if device.device.consumes_counters.as_ref().is_none_or(Vec::is_empty) {
            return Some(false);
        }
        if variant.release <= 33 {
            let is_used = |id| self.taken.is_dedicated(id) || self.in_use.get(&id).is_some_and(|users| !users.is_empty());
            return (!variant.partitionable || Counters::suffice(device, is_used)).then_some(false);
        }
        if !variant.partitionable {
            return None;
        }
        let shared = variant.release >= 35 && variant.consumable && is_shareable(device.device);
        if shared && (self.taken.capacity(device.id).is_some() || self.consumed.contains_key(&device.id)) {
            return Some(false);
        }
        let taken = self.taken;
        self.counters.take(pool, device, |id| taken.consumes(id, variant)).then_some(true)
    }

    /// Whether the device still has the capacity that is asked for.
    fn has_room(&self, number: usize, device: &PoolDevice<'s>, place: Place) -> Result<bool, Fault> {
        let variant = self.allocator.variant;
        let alternative = &self.requests[place.claim][place.request].alternatives[place.alternative];
        if variant.release != 34 || !variant.consumable {
            return Ok(self.has_capacity(device, alternative));
        }
        // 1.34 looks at that device of the slice whose number is the device's within its request.
        let other = device.slice.spec.devices.as_deref().and_then(|devices| devices.get(number));
        let other = other.ok_or_else(|| crash("a device beyond the last of a slice"))?;
        let other = PoolDevice { id: (device.id.0, device.id.1, &other.name), device: other, slice: device.slice };
        Ok(self.has_capacity(&other, alternative))
    }

    /// Whether a device has the capacity that is asked for.
    pub(super) fn has_capacity(&self, device: &PoolDevice<'s>, alternative: &Alternative<'_>) -> bool {
        !self.allocator.variant.consumable
            || has_capacity(device.device, alternative.capacity, self.taken.capacity(device.id), self.consumed.get(&device.id))
    }
}

/// Upstream reaches for what is not there, which ends the whole scheduler.
fn crash(what: &str) -> Fault {
    Fault::Unknown(format!("kube-scheduler of this release crashes here, reaching for {what}"))
}

/// Whether a taint keeps a request off a device. Since 1.35 there are taints that keep nobody off.
fn repels(taint: &DeviceTaint, tolerations: &[DeviceToleration], release: u16) -> bool {
    (release <= 34 || matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")) && !tolerated(taint, tolerations)
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
