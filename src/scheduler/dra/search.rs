//! The search for devices: for every claim, every request, every device, until all are served or nothing is left to try.

use std::collections::HashMap;

use crate::cluster::{Amount, Node};
use crate::kube::api::resource::v1::{DeviceClass, DeviceSelector, DeviceTaint, DeviceToleration, ResourceClaim};

use super::allocator::{Allocation, Allocator};
use super::constraint::Constraint;
use super::consumption::{Consumed, Counters, consumption, is_shareable};
use super::pool::{Pool, PoolDevice, device_matches};
use super::request::{Alternative, Request, claim_name, problem};
use super::selector::selects;
use super::{DeviceId, Fault};

/// A claim holds at most this many devices (`AllocationResultsMaxSize`).
pub const MOST_DEVICES: usize = 32;
/// More steps than this are not taken: the answer is then unknown. (Upstream stops after ten seconds.)
const STEPS: u32 = 200_000;

/// A device found for a request.
struct Taken<'a> {
    request: String,
    device: PoolDevice<'a>,
}

/// The claim, request, alternative and how many of its devices are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which claim.
    pub claim: usize,
    /// Which of its requests.
    pub request: usize,
    /// Which of the request's alternatives.
    pub alternative: usize,
}

/// The search on one node.
pub struct Search<'s, 'a> {
    pub(super) allocator: &'s Allocator<'a>,
    node: &'s Node,
    pub(super) claims: &'s [&'s ResourceClaim],
    pub(super) pools: &'s [Pool<'s>],
    pub(super) requests: Vec<Vec<Request<'s>>>,
    pub(super) constraints: Vec<Vec<Constraint<'s>>>,
    counters: Counters<'s>,
    consumed: Consumed<'s>,
    in_use: HashMap<DeviceId<'s>, Vec<usize>>,
    found: Vec<Vec<Taken<'s>>>,
    chosen: HashMap<(usize, usize), usize>,
    matches: HashMap<(DeviceId<'s>, Place), bool>,
    steps: u32,
}

impl<'s, 'a> Search<'s, 'a> {
    /// A search in which nothing is found yet.
    pub fn new(
        allocator: &'s Allocator<'a>,
        node: &'s Node,
        claims: &'s [&'s ResourceClaim],
        pools: &'s [Pool<'s>],
        counters: Counters<'s>,
        consumed: Consumed<'s>,
    ) -> Self {
        Self {
            allocator,
            node,
            claims,
            pools,
            requests: Vec::new(),
            constraints: Vec::new(),
            counters,
            consumed,
            in_use: HashMap::new(),
            found: claims.iter().map(|_| Vec::new()).collect(),
            chosen: HashMap::new(),
            matches: HashMap::new(),
            steps: 0,
        }
    }

    /// Serves the claims from this one on.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn claim(&mut self, claim: usize) -> Result<bool, Fault> {
        if claim >= self.claims.len() { Ok(true) } else { self.request(claim, 0) }
    }

    /// `allocateOne`, at the beginning of a request.
    fn request(&mut self, claim: usize, request: usize) -> Result<bool, Fault> {
        let Some(alternatives) = self.requests[claim].get(request).map(|request| request.alternatives.len()) else {
            return self.claim(claim + 1);
        };
        for alternative in 0..alternatives {
            if self.device(Place { claim, request, alternative }, 0)? {
                self.chosen.insert((claim, request), alternative);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `allocateOne`, for the next device of a request.
    fn device(&mut self, place: Place, number: usize) -> Result<bool, Fault> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err(Fault::Unknown(format!("the search for devices was given up after {STEPS} steps")));
        }
        let alternative = &self.requests[place.claim][place.request].alternatives[place.alternative];
        let (count, admin) = (alternative.count, alternative.admin_access);
        if alternative.all.as_ref().is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        if number >= count {
            return self.request(place.claim, place.request + 1);
        }
        if self.found[place.claim].len() + count - number > MOST_DEVICES {
            return Ok(false);
        }
        if let Some(device) = alternative.all.as_ref().map(|all| all[number]) {
            return self.with_device(place, number, device, true);
        }
        for pool in self.pools {
            if let Some(reason) = &pool.invalid {
                if self.allocator.release.0 >= 35 {
                    continue;
                }
                return Err(Fault::Error(format!("pool {} is invalid: {reason}", pool.name)));
            }
            for device in pool.devices() {
                if self.is_taken(&device, place.claim, admin) {
                    continue;
                }
                let class = self.selectors_of(place);
                if self.is_selectable_by(&device, &class, place)? && self.with_device(place, number, device, false)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Takes a device and goes on; puts it back if that leads nowhere.
    fn with_device(&mut self, place: Place, number: usize, device: PoolDevice<'s>, must: bool) -> Result<bool, Fault> {
        let Some(capacity) = self.take(place, device, must)? else { return Ok(false) };
        if self.device(place, number + 1)? {
            return Ok(true);
        }
        self.put_back(place, device, &capacity);
        Ok(false)
    }

    /// `allocateDevice`: the capacity it takes of a shared device, or `None` where it may not be had.
    fn take(&mut self, place: Place, device: PoolDevice<'s>, must: bool) -> Result<Option<Vec<(String, Amount)>>, Fault> {
        let (features, release) = (self.allocator.features, self.allocator.release.0);
        let request = &self.requests[place.claim][place.request];
        let alternative = &request.alternatives[place.alternative];
        let (name, sub) = (request.name, request.prioritized.then_some(alternative.name));
        let (tolerations, wanted) = (alternative.tolerations, alternative.capacity);
        if self.is_taken(&device, place.claim, alternative.admin_access) {
            return Ok(None);
        }
        let capacity = if features.consumable {
            match consumption(&device, wanted, &self.consumed) {
                Some(capacity) => capacity,
                None => return Ok(None),
            }
        } else {
            Vec::new()
        };
        let counts = device.device.consumes_counters.as_ref().is_some_and(|all| !all.is_empty());
        let tainted =
            features.taints && device.device.taints.iter().flatten().any(|taint| taint.effect != "None" && !tolerated(taint, tolerations));
        if (counts && !features.partitionable) || tainted || (counts && !self.counters.take(&device, release)) {
            return Ok(None);
        }
        let constraints = &mut self.constraints[place.claim];
        if let Some(refusing) = constraints.iter_mut().position(|constraint| !constraint.add(name, sub, device.device, device.id)) {
            for constraint in &mut constraints[..refusing] {
                constraint.remove(name, sub);
            }
            if counts {
                self.counters.give_back(&device, release);
            }
            if must {
                let (driver, pool, of) = device.id;
                let what = format!("cannot add device {driver}/{pool}/{of} because a claim constraint would not be satisfied");
                return Err(problem(self.claims[place.claim], sub.unwrap_or(name), &what));
            }
            return Ok(None);
        }
        if self.is_shared(&device) {
            for (name, taken) in &capacity {
                let total = self.consumed.entry((device.id, name.clone())).or_default();
                *total = *total + *taken;
            }
        } else {
            self.in_use.entry(device.id).or_default().push(place.claim);
        }
        let request = sub.map_or_else(|| name.to_owned(), |sub| format!("{name}/{sub}"));
        self.found[place.claim].push(Taken { request, device });
        Ok(Some(capacity))
    }

    fn put_back(&mut self, place: Place, device: PoolDevice<'s>, capacity: &[(String, Amount)]) {
        let request = &self.requests[place.claim][place.request];
        let sub = request.prioritized.then_some(request.alternatives[place.alternative].name);
        for constraint in &mut self.constraints[place.claim] {
            constraint.remove(request.name, sub);
        }
        if self.is_shared(&device) {
            for (name, taken) in capacity {
                let total = self.consumed.entry((device.id, name.clone())).or_default();
                *total = *total - *taken;
            }
        } else if let Some(users) = self.in_use.get_mut(&device.id) {
            users.pop();
        }
        if device.device.consumes_counters.as_ref().is_some_and(|all| !all.is_empty()) {
            self.counters.give_back(&device, self.allocator.release.0);
        }
        self.found[place.claim].pop();
    }

    fn is_shared(&self, device: &PoolDevice<'_>) -> bool {
        self.allocator.features.consumable && is_shareable(device.device)
    }

    /// Whether a device is not to be had: in use anywhere or, with admin access, in the same claim.
    fn is_taken(&self, device: &PoolDevice<'s>, claim: usize, admin: bool) -> bool {
        let users = self.in_use.get(&device.id).map(Vec::as_slice).unwrap_or_default();
        if admin { users.contains(&claim) } else { !users.is_empty() || self.allocator.is_allocated(device.id) }
    }

    fn selectors_of(&self, place: Place) -> (&'s DeviceClass, &'s [DeviceSelector]) {
        let alternative = &self.requests[place.claim][place.request].alternatives[place.alternative];
        (alternative.class, alternative.selectors)
    }

    /// Whether a device matches what an alternative wants.
    pub(super) fn is_selectable(&mut self, device: &PoolDevice<'s>, alternative: &Alternative<'s>, place: Place) -> Result<bool, Fault> {
        self.is_selectable_by(device, &(alternative.class, alternative.selectors), place)
    }

    /// `isSelectable`: by the class's selectors, the request's own, and the device's own node.
    fn is_selectable_by(
        &mut self,
        device: &PoolDevice<'s>,
        by: &(&'s DeviceClass, &'s [DeviceSelector]),
        place: Place,
    ) -> Result<bool, Fault> {
        if !self.allocator.features.binding && device.device.binding_conditions.as_ref().is_some_and(|all| !all.is_empty()) {
            return Ok(false);
        }
        if let Some(known) = self.matches.get(&(device.id, place)) {
            return Ok(*known);
        }
        let (class, own) = by;
        let of_class = class.spec.selectors.as_deref().unwrap_or_default();
        let class_name = format!("class {}", class.metadata.name.as_deref().unwrap_or_default());
        let claim = format!("claim {}", claim_name(self.claims[place.claim]));
        let matches = selects(of_class, device, &class_name)?
            && selects(own, device, &claim)?
            && (device.slice.spec.per_device_node_selection != Some(true) || device_matches(device.device, self.node));
        self.matches.insert((device.id, place), matches);
        Ok(matches)
    }

    /// What was found, claim by claim.
    pub fn result(&self) -> Vec<Allocation> {
        let one = |(claim, taken): (usize, &Vec<Taken<'_>>)| {
            let devices = taken.iter().map(|taken| {
                let (driver, pool, device) = taken.device.id;
                (taken.request.clone(), driver.to_owned(), pool.to_owned(), device.to_owned())
            });
            let prioritized = self.requests[claim].iter().enumerate().filter(|(_, request)| request.prioritized);
            let alternatives = prioritized.filter_map(|(at, _)| self.chosen.get(&(claim, at)).copied()).collect();
            Allocation { devices: devices.collect(), alternatives }
        };
        self.found.iter().enumerate().map(one).collect()
    }
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
