//! What claims ask for, checked before the search: `validateDeviceRequest` and its callers.

use crate::kube::api::resource::v1::ResourceClaim;

use super::Fault;
use super::constraint::Constraint;
use super::pool::PoolDevice;
use super::request::{Alternative, Request, Written, claim_name, problem, requests, written};
use super::search::{MOST_DEVICES, Place, Search};

impl<'s> Search<'s, '_> {
    /// Checks the claims and finds out how many devices they want.
    ///
    /// # Errors
    /// What is wrong with a claim.
    pub fn prepare(&mut self) -> Result<(), Fault> {
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
}
