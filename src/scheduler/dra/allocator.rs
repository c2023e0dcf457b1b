//! The search for devices: for every claim, every request, every device, until all are served or nothing is left to try.
//! Upstream: `structured/internal/{stable,incubating,experimental}/allocator_*.go`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, Node};
use crate::kube::api::resource::v1::{DeviceClass, DeviceSelector, DeviceTaint, DeviceToleration, ResourceClaim, ResourceSlice};
use crate::scheduler::cel::{Expression, Fault as CelFault, Semver, Value};
use crate::scheduler::{Cycle, Release};

use super::constraint::Constraint;
use super::consumption::{Consumed, Counters, consumption, is_shareable};
use super::pool::{Pool, PoolDevice, device_matches, gather};
use super::request::{Alternative, Request, Written, claim_name, problem, requests, written};
use super::{DeviceId, Fault, Features};

/// A claim holds at most this many devices (`AllocationResultsMaxSize`).
const MOST_DEVICES: usize = 32;
/// More steps than this are not taken: the answer is then unknown. (Upstream stops after ten seconds.)
const STEPS: u32 = 200_000;

/// What is the same for every node.
pub struct Allocator<'a> {
    release: Release,
    features: Features,
    state: &'a ClusterState,
    slices: Vec<Arc<ResourceSlice>>,
    allocated: HashSet<(String, String, String)>,
    consumed: Vec<((String, String, String), String, crate::cluster::Amount)>,
}

/// What a claim would get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Devices, each with the request it serves (`request/alternative`): request, driver, pool, device.
    pub devices: Vec<(String, String, String, String)>,
    /// For each request with alternatives, the place of the one that serves it.
    pub alternatives: Vec<usize>,
}

impl<'a> Allocator<'a> {
    /// Prepares the search: what is published and what is taken.
    pub fn new(cycle: &Cycle<'a>) -> Self {
        let features = Features::of(&cycle.profile.gates);
        let listers = cycle.state.listers();
        let mut allocated = HashSet::new();
        let mut consumed = Vec::new();
        let results = listers
            .resource_claims
            .iter()
            .filter_map(|claim| claim.status.as_ref()?.allocation.as_ref()?.devices.as_ref()?.results.as_ref());
        for result in results.flatten().filter(|result| result.admin_access != Some(true)) {
            let id = (result.driver.clone(), result.pool.clone(), result.device.clone());
            if features.consumable && result.share_id.is_some() {
                let taken = result.consumed_capacity.iter().flatten();
                consumed
                    .extend(taken.map(|(name, quantity)| {
                        (id.clone(), name.clone(), crate::cluster::Amount::parse(&quantity.0).unwrap_or_default())
                    }));
            } else {
                allocated.insert(id);
            }
        }
        let slices = listers.resource_slices.iter().cloned().collect();
        Self { release: cycle.profile.release, features, state: cycle.state, slices, allocated, consumed }
    }

    /// What the claims would get on a node; `None`: they do not all get what they want.
    pub fn allocate(&self, node: &Node, claims: &[&ResourceClaim]) -> Result<Option<Vec<Allocation>>, Fault> {
        let pools = gather(&self.slices, node, self.features, self.release.0);
        let is_allocated = |device: &PoolDevice<'_>| self.is_allocated(device.id);
        let counters = Counters::of(&pools, self.release.0, is_allocated);
        let mut consumed = Consumed::new();
        for ((driver, pool, device), name, taken) in &self.consumed {
            let total = consumed.entry(((driver.as_str(), pool.as_str(), device.as_str()), name.clone())).or_default();
            *total = *total + *taken;
        }
        let mut search = Search {
            allocator: self,
            node,
            claims,
            pools: &pools,
            requests: Vec::new(),
            constraints: Vec::new(),
            counters,
            consumed,
            in_use: HashMap::new(),
            found: claims.iter().map(|_| Vec::new()).collect(),
            chosen: HashMap::new(),
            matches: HashMap::new(),
            steps: 0,
        };
        search.prepare()?;
        if search.claim(0)? {
            return Ok(Some(search.result()));
        }
        if self.release.0 >= 35 && pools.iter().any(|pool| pool.invalid.is_some()) {
            return Err(Fault::Node("invalid resource pools were encountered".to_owned()));
        }
        Ok(None)
    }

    fn is_allocated(&self, id: DeviceId<'_>) -> bool {
        self.allocated.contains(&(id.0.to_owned(), id.1.to_owned(), id.2.to_owned()))
    }
}

/// A device found for a request.
struct Taken<'a> {
    request: String,
    device: PoolDevice<'a>,
}

/// The claim, request, alternative and how many of its devices are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    claim: usize,
    request: usize,
    alternative: usize,
}

struct Search<'s, 'a> {
    allocator: &'s Allocator<'a>,
    node: &'s Node,
    claims: &'s [&'s ResourceClaim],
    pools: &'s [Pool<'s>],
    requests: Vec<Vec<Request<'s>>>,
    constraints: Vec<Vec<Constraint<'s>>>,
    counters: Counters<'s>,
    consumed: Consumed<'s>,
    in_use: HashMap<DeviceId<'s>, Vec<usize>>,
    found: Vec<Vec<Taken<'s>>>,
    chosen: HashMap<(usize, usize), usize>,
    matches: HashMap<(DeviceId<'s>, Place), bool>,
    steps: u32,
}

impl<'s> Search<'s, '_> {
    /// Checks the claims and finds out how many devices they want.
    fn prepare(&mut self) -> Result<(), Fault> {
        for (number, claim) in self.claims.iter().copied().enumerate() {
            let mut prepared = Vec::new();
            let mut least = 0;
            for (at, request) in requests(claim).iter().enumerate() {
                let prioritized = request.first_available.as_ref().is_some_and(|all| !all.is_empty());
                if prioritized && !self.allocator.features.prioritized_list {
                    return Err(problem(claim, &request.name, "has subrequests, but the DRAPrioritizedList feature is disabled"));
                }
                let mut alternatives = Vec::new();
                for (alternative, written) in written(request).into_iter().enumerate() {
                    alternatives.push(self.alternative(claim, written, Place { claim: number, request: at, alternative })?);
                }
                least += alternatives.iter().map(|alternative| alternative.count).min().unwrap_or_default();
                prepared.push(Request { name: &request.name, prioritized, alternatives });
            }
            if least > MOST_DEVICES {
                let what =
                    format!("claim {}: number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}", claim_name(claim));
                return Err(Fault::Error(what));
            }
            let constraints = claim.spec.devices.as_ref().and_then(|devices| devices.constraints.as_deref()).unwrap_or_default();
            let mut known = Vec::new();
            for (at, constraint) in constraints.iter().enumerate() {
                let what = || format!("claim {}, constraint #{at}: empty constraint (unsupported constraint type?)", claim_name(claim));
                known.push(Constraint::new(constraint, self.allocator.features.consumable).ok_or_else(|| Fault::Error(what()))?);
            }
            self.requests.push(prepared);
            self.constraints.push(known);
        }
        Ok(())
    }

    /// `validateDeviceRequest`.
    fn alternative(&mut self, claim: &'s ResourceClaim, written: Written<'s>, place: Place) -> Result<Alternative<'s>, Fault> {
        let features = self.allocator.features;
        if let Some(at) = written.selectors.iter().position(|selector| selector.cel.is_none()) {
            let what = format!("selector #{at}: CEL expression empty (unsupported selector type?)");
            return Err(Fault::Error(format!("claim {}, request {}, {what}", claim_name(claim), written.name)));
        }
        if written.admin_access.is_some() && !features.admin_access {
            return Err(problem(claim, written.name, "admin access is requested, but the feature is disabled"));
        }
        if written.capacity.is_some() && !features.consumable {
            return Err(problem(claim, written.name, "has capacity requests, but the DRAConsumableCapacity feature is disabled"));
        }
        let class = self.allocator.state.listers().device_classes.get("", written.class).ok_or_else(|| {
            let name = written.class;
            problem(
                claim,
                written.name,
                &format!("could not retrieve device class {name}: deviceclass.resource.k8s.io \"{name}\" not found"),
            )
        })?;
        let mut alternative = Alternative {
            name: written.name,
            class,
            selectors: written.selectors,
            tolerations: written.tolerations,
            count: usize::try_from(written.count).unwrap_or_default(),
            all: None,
            admin_access: written.admin_access == Some(true),
            capacity: written.capacity,
        };
        match written.mode {
            "ExactCount" => {}
            "All" => {
                let all = self.all_devices(claim, &alternative, place)?;
                alternative.count = all.len();
                alternative.all = Some(all);
            }
            other => return Err(problem(claim, written.name, &format!("unsupported count mode {other}"))),
        }
        Ok(alternative)
    }

    fn all_devices(&mut self, claim: &ResourceClaim, alternative: &Alternative<'s>, place: Place) -> Result<Vec<PoolDevice<'s>>, Fault> {
        let mut all = Vec::new();
        for pool in self.pools {
            let state = match (pool.incomplete, &pool.invalid) {
                (true, _) => "being updated",
                (false, Some(_)) => "invalid",
                (false, None) => "",
            };
            if !state.is_empty() {
                let what = format!("asks for all devices, but resource pool {}/{} is currently {state}", pool.driver, pool.name);
                let fault = problem(claim, alternative.name, &what);
                return Err(match fault {
                    Fault::Error(text) if self.allocator.release.0 >= 35 => Fault::Node(text),
                    other => other,
                });
            }
            for device in pool.devices() {
                if self.is_selectable(&device, alternative, place)? {
                    all.push(device);
                }
            }
        }
        Ok(all)
    }

    fn claim(&mut self, claim: usize) -> Result<bool, Fault> {
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
    fn take(&mut self, place: Place, device: PoolDevice<'s>, must: bool) -> Result<Option<Vec<(String, crate::cluster::Amount)>>, Fault> {
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

    fn put_back(&mut self, place: Place, device: PoolDevice<'s>, capacity: &[(String, crate::cluster::Amount)]) {
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

    fn is_selectable(&mut self, device: &PoolDevice<'s>, alternative: &Alternative<'s>, place: Place) -> Result<bool, Fault> {
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

    fn result(&self) -> Vec<Allocation> {
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

/// Whether every selector matches the device; `whose` begins upstream's error.
fn selects(selectors: &[DeviceSelector], device: &PoolDevice<'_>, whose: &str) -> Result<bool, Fault> {
    for (at, selector) in selectors.iter().enumerate() {
        let Some(cel) = &selector.cel else { continue };
        let result = Expression::parse(&cel.expression).and_then(|expression| expression.evaluate(&[("device", described(device)?)]));
        match result {
            Ok(Value::Bool(true)) => {}
            Ok(Value::Bool(false)) => return Ok(false),
            Ok(_) => {
                return Err(Fault::Error(format!("{whose}: selector #{at}: CEL runtime error: CEL result could not be converted to bool")));
            }
            Err(CelFault::Error(error)) => return Err(Fault::Error(format!("{whose}: selector #{at}: CEL runtime error: {error}"))),
            Err(CelFault::Unsupported(what)) => {
                return Err(Fault::Unknown(format!("the expression {:?} of {whose} uses {what}, which is not modelled", cel.expression)));
            }
        }
    }
    Ok(true)
}

/// The variable `device` of selectors: `k8s.io/dynamic-resource-allocation/cel`.
fn described(device: &PoolDevice<'_>) -> Result<Value, CelFault> {
    let (driver, ..) = device.id;
    let mut attributes: HashMap<&str, Vec<(&str, Value)>> = HashMap::new();
    for (name, attribute) in device.device.attributes.iter().flatten() {
        let value = if let Some(value) = attribute.int {
            Value::Int(value)
        } else if let Some(value) = attribute.bool {
            Value::Bool(value)
        } else if let Some(value) = &attribute.string {
            Value::string(value)
        } else if let Some(value) = &attribute.version {
            Value::Semver(Semver::parse(value).ok_or_else(|| CelFault::Unsupported(format!("the version {value:?}")))?)
        } else {
            return Err(CelFault::Unsupported(format!("the attribute {name} of a list type")));
        };
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        attributes.entry(domain).or_default().push((id, value));
    }
    let mut capacity: HashMap<&str, Vec<(&str, Value)>> = HashMap::new();
    for (name, offered) in device.device.capacity.iter().flatten() {
        let value = crate::cluster::Amount::parse(&offered.value.0)
            .ok_or_else(|| CelFault::Unsupported(format!("the quantity {:?}", offered.value.0)))?;
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        capacity.entry(domain).or_default().push((id, Value::Quantity(value)));
    }
    let by_domain = |map: HashMap<&str, Vec<(&str, Value)>>| {
        Value::map(map.into_iter().map(|(domain, values)| (domain.to_owned(), Value::map(values)))).with_default()
    };
    Ok(Value::map([
        ("driver", Value::string(driver)),
        ("allowMultipleAllocations", Value::Bool(is_shareable(device.device))),
        ("attributes", by_domain(attributes)),
        ("capacity", by_domain(capacity)),
    ]))
}
