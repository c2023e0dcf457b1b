//! Validates the requests of claims before the search: `validateDeviceRequest` and its callers.

use crate::api::resource::{DeviceDerivedAttribute, DeviceRequest};
use crate::cluster::Claim;

use super::Fault;
use super::constraint::ConstraintState;
use super::pool::{Pool, PoolDevice};
use super::request::{Alternative, Request, StoredRequest, claim_name, problem, requests, written};
use super::search::{DeviceSearch, MOST_DEVICES, RequestIndices};

impl<'s> DeviceSearch<'s, '_> {
    /// Validates the claims and counts the devices they request.
    ///
    /// # Errors
    /// The error in a claim.
    pub(super) fn prepare(&mut self) -> Result<(), Fault> {
        let rules = self.allocator.rules;
        for (number, claim) in self.claims.iter().copied().enumerate() {
            let mut prepared = Vec::new();
            let mut least = 0;
            for (at, request) in requests(claim).iter().enumerate() {
                let prioritized = request.first_available.as_ref().is_some_and(|all| !all.is_empty());
                if prioritized && !rules.prioritized_list {
                    return Err(problem(claim, &request.name, "has subrequests, but the DRAPrioritizedList feature is disabled"));
                }
                self.refuse_capacity(claim, request)?;
                let mut alternatives = Vec::new();
                for (alternative, written) in written(request).into_iter().enumerate() {
                    let known_as = if rules.matches_as_previous_alternative() { alternative.saturating_sub(1) } else { alternative };
                    alternatives.push(self.alternative(
                        claim,
                        written,
                        RequestIndices { claim: number, request: at, alternative: known_as },
                    )?);
                }
                let count = alternatives.iter().map(|alternative| alternative.count).min().unwrap_or_default();
                if rules.limits_devices_by_request() && count > MOST_DEVICES - least {
                    let limit = format!("exceeds the claim limit of {MOST_DEVICES}, with {least} already accounted for");
                    return Err(problem(claim, &request.name, &format!("adding {count} devices {limit}")));
                }
                least += count;
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
                known.push(ConstraintState::new(constraint, rules).ok_or_else(|| Fault::Error(what()))?);
            }
            self.requests.push(prepared);
            self.constraints.push(known);
        }
        self.forget_matches();
        Ok(())
    }

    /// Capacity may be requested only with the gate on; allocators that do not support it ignore it.
    fn refuse_capacity(&self, claim: &Claim, request: &DeviceRequest) -> Result<(), Fault> {
        const CAPACITY_DISABLED_REASON: &str = "has capacity requests, but the DRAConsumableCapacity feature is disabled";
        let rules = self.allocator.rules;
        if rules.consumable || !rules.knows_capacity() {
            return Ok(());
        }
        let subrequest = request.first_available.iter().flatten().find(|sub| sub.capacity.is_some());
        match (&request.exactly, subrequest) {
            (Some(exactly), _) if exactly.capacity.is_some() => Err(problem(claim, &request.name, CAPACITY_DISABLED_REASON)),
            (_, Some(_)) if rules.subrequest_errors_name_request() => Err(problem(claim, &request.name, CAPACITY_DISABLED_REASON)),
            (_, Some(sub)) => {
                Err(Fault::Error(format!("claim {}, subrequest {}: {CAPACITY_DISABLED_REASON}", claim_name(claim), sub.name)))
            }
            _ => Ok(()),
        }
    }

    /// `validateDeviceRequest`.
    fn alternative(&mut self, claim: &'s Claim, written: StoredRequest<'s>, place: RequestIndices) -> Result<Alternative<'s>, Fault> {
        let rules = self.allocator.rules;
        let derived = derived_attributes(claim, place, written.name);
        if !derived.is_empty() && rules.refuses_derived_attributes() {
            return Err(problem(claim, written.name, "cannot handle request with derived attributes, the feature is disabled"));
        }
        if let Some(at) = written.selectors.iter().position(|selector| selector.cel.is_none()) {
            let what = format!("selector #{at}: CEL expression empty (unsupported selector type?)");
            return Err(Fault::Error(format!("claim {}, request {}, {what}", claim_name(claim), written.name)));
        }
        if written.admin_access.is_some() && !rules.admin_access && rules.gates_admin_access() {
            return Err(problem(claim, written.name, "admin access is requested, but the feature is disabled"));
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
            derived,
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

    fn all_devices(
        &mut self,
        claim: &Claim,
        alternative: &Alternative<'s>,
        place: RequestIndices,
    ) -> Result<Vec<(&'s Pool<'s>, PoolDevice<'s>)>, Fault> {
        let mut all = Vec::new();
        for pool in self.pools {
            if pool.renewed && self.allocator.rules.mixes_generations() {
                let what = format!(
                    "resource pool {}/{} has slices of two generations, and which the scheduler meets first decides",
                    pool.driver, pool.name
                );
                return Err(Fault::Unknown(what));
            }
            let state = match (pool.incomplete, &pool.invalid) {
                (true, _) => "being updated",
                (false, Some(_)) => "invalid",
                (false, None) => "",
            };
            if !state.is_empty() {
                let what = format!("asks for all devices, but resource pool {}/{} is currently {state}", pool.driver, pool.name);
                return Err(problem(claim, alternative.name, &what));
            }
            for device in pool.devices() {
                if self.is_selectable(&device, (alternative, !self.allocator.rules.all_ignores_class()), place)?
                    && self.could_have_capacity(claim, &device, alternative)?
                {
                    all.push((pool, device));
                }
            }
        }
        Ok(all)
    }
}

fn derived_attributes<'c>(claim: &'c Claim, place: RequestIndices, name: &str) -> &'c [DeviceDerivedAttribute] {
    let Some(request) = requests(claim).get(place.request) else { return &[] };
    let alternative = request.first_available.iter().flatten().find(|alternative| alternative.name == name);
    let derived = match alternative {
        Some(alternative) => alternative.derived_attributes.as_deref(),
        None => request.exactly.as_ref().and_then(|exactly| exactly.derived_attributes.as_deref()),
    };
    derived.unwrap_or_default()
}
