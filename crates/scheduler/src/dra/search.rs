//! The search for devices: for every claim, every request, every device, until all are allocated or nothing is left to try.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::cluster::{Claim, Node};

use super::allocator::{Allocation, Allocator, TakenDevices};
use super::capacity::{Amounts, Consumed};
use super::constraint::ConstraintState;
use super::counters::Counters;
use super::groups::Groups;
use super::pool::{Pool, PoolDevice, device_matches};
use super::request::{Alternative, Request, claim_name};
use super::{DeviceId, Fault};

/// A claim holds at most this many devices (`AllocationResultsMaxSize`).
pub(super) const MOST_DEVICES: usize = 32;
/// After this many steps the result is unknown. (Upstream stops after ten seconds.)
const MAX_SEARCH_STEPS: u32 = 200_000;

/// A device found for a request.
pub(super) struct DeviceResult<'a> {
    pub(super) request: String,
    pub(super) device: PoolDevice<'a>,
    pub(super) admin_access: bool,
    /// Its consumed capacity, if it is shareable.
    pub(super) shared: Option<Amounts>,
}

/// The claim, request and alternative that devices are searched for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RequestIndices {
    /// Which claim.
    pub claim: usize,
    /// Which of its requests.
    pub request: usize,
    /// Which of the request's alternatives.
    pub alternative: usize,
}

/// Why a branch of the search ends without a result of its own.
pub(super) enum SearchEnd {
    /// The claim would hold too many devices.
    TooMany,
    /// The whole search ends without a result.
    Ended,
    Fault(Fault),
}

impl From<Fault> for SearchEnd {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Where to resume: a pool and a device in it.
type Start = (usize, usize);

pub(super) struct DeviceSearch<'s, 'a> {
    pub(super) allocator: &'s Allocator<'a>,
    pub(super) taken: &'s TakenDevices<'s>,
    pub(super) node: &'s Node,
    pub(super) claims: &'s [&'s Claim],
    pub(super) pools: &'s [Pool<'s>],
    pub(super) requests: Vec<Vec<Request<'s>>>,
    pub(super) constraints: Vec<Vec<ConstraintState<'s>>>,
    pub(super) counters: Counters<'s>,
    pub(super) consumed: Consumed<'s>,
    pub(super) groups: Groups<'s>,
    pub(super) in_use: BTreeMap<DeviceId<'s>, BTreeSet<usize>>,
    pub(super) found: Vec<Vec<DeviceResult<'s>>>,
    matches: HashMap<(DeviceId<'s>, RequestIndices), bool>,
    steps: u32,
}

impl<'s, 'a> DeviceSearch<'s, 'a> {
    pub(super) fn new(
        allocator: &'s Allocator<'a>,
        node: &'s Node,
        claims: &'s [&'s Claim],
        pools: &'s [Pool<'s>],
        taken: &'s TakenDevices<'s>,
    ) -> Self {
        Self {
            allocator,
            taken,
            node,
            claims,
            pools,
            requests: Vec::new(),
            constraints: Vec::new(),
            counters: Counters::new(allocator.rules),
            consumed: Consumed::new(),
            groups: Groups::default(),
            in_use: BTreeMap::new(),
            found: claims.iter().map(|_| Vec::new()).collect(),
            matches: HashMap::new(),
            steps: 0,
        }
    }

    /// Allocates devices to all claims, if possible.
    ///
    /// # Errors
    /// Why it cannot be computed.
    pub(super) fn run(&mut self) -> Result<bool, Fault> {
        match self.request(0, 0) {
            Ok(done) => Ok(done),
            Err(SearchEnd::Ended) => Ok(false),
            Err(SearchEnd::TooMany) => Err(Fault::Error("allocation max size exceeded".to_owned())),
            Err(SearchEnd::Fault(fault)) => Err(fault),
        }
    }

    /// Forgets which devices matched the alternatives before the search.
    pub(super) fn forget_matches(&mut self) {
        self.matches.clear();
    }

    /// `allocateOne`, at the start of a request.
    fn request(&mut self, claim: usize, request: usize) -> Result<bool, SearchEnd> {
        if claim >= self.claims.len() {
            return Ok(true);
        }
        let Some(wanted) = self.requests[claim].get(request) else {
            return match self.request(claim + 1, 0) {
                Err(SearchEnd::TooMany) => Ok(false),
                other => other,
            };
        };
        let (prioritized, alternatives) = (wanted.prioritized, wanted.alternatives.len());
        if !prioritized {
            return self.device(RequestIndices { claim, request, alternative: 0 }, 0, (0, 0));
        }
        let mut all_too_many = true;
        for alternative in 0..alternatives {
            match self.device(RequestIndices { claim, request, alternative }, 0, (0, 0)) {
                Err(SearchEnd::TooMany) => continue,
                Err(stop) => return Err(stop),
                Ok(true) => return Ok(true),
                Ok(false) => all_too_many = false,
            }
        }
        if all_too_many && self.allocator.rules.reports_too_many_devices() { Err(SearchEnd::TooMany) } else { Ok(false) }
    }

    /// `allocateOne`, for the next device of a request, searched from a place on.
    fn device(&mut self, place: RequestIndices, number: usize, from: Start) -> Result<bool, SearchEnd> {
        self.steps += 1;
        if self.steps > MAX_SEARCH_STEPS {
            return Err(Fault::Unknown(format!("the search for devices was given up after {MAX_SEARCH_STEPS} steps")).into());
        }
        let rules = self.allocator.rules;
        let alternative = &self.requests[place.claim][place.request].alternatives[place.alternative];
        let (count, all) = (alternative.count, alternative.all.as_ref());
        if all.is_some_and(Vec::is_empty) && rules.all_needs_a_device() {
            return Ok(false);
        }
        if number >= count {
            return self.request(place.claim, place.request + 1);
        }
        if rules.limits_devices_in_search() && self.found[place.claim].len() + count - number > MOST_DEVICES {
            return if rules.reports_too_many_devices() { Err(SearchEnd::TooMany) } else { Ok(false) };
        }
        if let Some(all) = all {
            let (pool, device) = all[number];
            return self.the_device(place, number, pool, device);
        }
        for (at, pool) in self.pools.iter().enumerate().skip(from.0) {
            if rules.passes_over_invalid_pools() && (pool.incomplete || pool.invalid.is_some()) {
                continue;
            }
            let invalid = || Fault::Error(format!("pool {} is invalid: {}", pool.name, pool.invalid.as_deref().unwrap_or_default()));
            if rules.invalid_pools_fail() && pool.invalid.is_some() {
                return Err(invalid().into());
            }
            let skipped = if at == from.0 { from.1 } else { 0 };
            for (index, device) in pool.devices().enumerate().skip(skipped) {
                if self.is_taken(&device, place) || !self.is_selectable_by(&device, place)? {
                    continue;
                }
                if pool.invalid.is_some() {
                    return Err(invalid().into());
                }
                if !self.has_capacity(&device, place)? {
                    continue;
                }
                let Some(undo) = self.take(place, number, (pool, device), false)? else { continue };
                let next = if rules.resumes() { (at, index + 1) } else { (0, 0) };
                let rest = self.device(place, number + 1, next);
                if matches!(rest, Ok(true)) {
                    return rest;
                }
                self.put_back(place, &device, undo);
                rest?;
            }
        }
        Ok(false)
    }

    fn the_device(&mut self, place: RequestIndices, number: usize, pool: &'s Pool<'s>, device: PoolDevice<'s>) -> Result<bool, SearchEnd> {
        let rules = self.allocator.rules;
        let Some(undo) = self.take(place, number, (pool, device), true)? else {
            if rules.all_passes_over_refused() {
                return self.rest_of_all(place, number);
            }
            return if rules.all_ends_search() { Err(SearchEnd::Ended) } else { Ok(false) };
        };
        if rules.all_passes_over_refused() {
            return self.rest_of_all(place, number);
        }
        let alternative = if rules.all_goes_on_with_first_alternative() { 0 } else { place.alternative };
        let rest = self.device(RequestIndices { alternative, ..place }, number + 1, (0, 0));
        if !matches!(rest, Ok(true)) && !rules.all_keeps() {
            self.put_back(place, &device, undo);
        }
        rest
    }

    /// Continues after one of all devices, whether or not it was available.
    fn rest_of_all(&mut self, place: RequestIndices, number: usize) -> Result<bool, SearchEnd> {
        match self.device(place, number + 1, (0, 0)) {
            Ok(false) => Err(Fault::Error("stop allocation".to_owned()).into()),
            other => other,
        }
    }

    /// Whether a device matches an alternative; `of_class`: the selectors of its class count.
    pub(super) fn is_selectable(
        &mut self,
        device: &PoolDevice<'s>,
        (alternative, of_class): (&Alternative<'s>, bool),
        place: RequestIndices,
    ) -> Result<bool, Fault> {
        if !self.allocator.rules.binding && device.device.binding_conditions.as_ref().is_some_and(|all| !all.is_empty()) {
            return Ok(false);
        }
        if let Some(known) = self.matches.get(&(device.id, place)) {
            return Ok(*known);
        }
        let class = alternative.class;
        let of_class = class.spec.selectors.as_deref().filter(|_| of_class).unwrap_or_default();
        let class_name = format!("class {}", class.metadata.name.as_deref().unwrap_or_default());
        let claim = format!("claim {}", claim_name(self.claims[place.claim]));
        let rules = self.allocator.rules;
        let selectors = &self.allocator.selectors;
        let matches = selectors.select(of_class, device, &class_name, rules)?
            && selectors.select(alternative.selectors, device, &claim, rules)?
            && (device.slice.spec.per_device_node_selection != Some(true) || device_matches(device.device, self.node));
        self.matches.insert((device.id, place), matches);
        Ok(matches)
    }

    /// `isSelectable`: by the class's selectors, the request's own, and the device's own node.
    fn is_selectable_by(&mut self, device: &PoolDevice<'s>, place: RequestIndices) -> Result<bool, Fault> {
        let alternative = self.requests[place.claim][place.request].alternatives[place.alternative].clone();
        self.is_selectable(device, (&alternative, true), place)
    }

    /// Returns the devices found, claim by claim.
    pub(super) fn result(&self) -> Vec<Allocation> {
        let one = |found: &Vec<DeviceResult<'_>>| {
            let devices = found.iter().map(|found| {
                let (driver, pool, device) = found.device.id;
                (found.request.clone(), driver.to_owned(), pool.to_owned(), device.to_owned())
            });
            Allocation { devices: devices.collect() }
        };
        self.found.iter().map(one).collect()
    }
}
