//! What devices consume of a node's own resources for a pod (DRANodeAllocatableResources, since 1.36).
//! Upstream: `plugins/dynamicresources/nodeallocatabledynamicresources.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Cycle;
use crate::api::resource::{Device, DeviceRequestAllocationResult, NodeAllocatableResource, NodeAllocatableResourceMapping};
use crate::cluster::{Amount, Claim, ContainerRequests, Node, NodeAllocatableClaim, PodInfo, Slice};
use crate::release::Rules;

use super::capacity::amount;
use super::pool::{device_matches, is_published_for};
use super::{Fault, claim_name, results};

/// The published devices that consume node resources.
pub(crate) struct NodeAllocatable<'a> {
    slices: Vec<&'a Slice>,
    rules: &'a Rules,
}

/// What a device consumes of one of the node's resources.
#[derive(Clone, Debug, Default, PartialEq)]
struct Take<'s> {
    resource: &'s str,
    /// The capacity that is counted, if it is not the device itself.
    capacity: Option<&'s str>,
    /// The factor of the capacity.
    multiplier: Option<Amount>,
    /// The amount each device counts.
    each: Option<Amount>,
    per_pod: Option<Amount>,
    per_container: Option<Amount>,
    /// Whether the device represents the resource itself.
    is_mapped: bool,
}

/// A claim, the pod's own names for it, and the devices allocated to it, now or after the search.
pub(crate) struct Holding<'h> {
    /// The claim.
    pub claim: &'h Claim,
    /// The entries of `spec.resourceClaims` that refer to it.
    pub entries: Vec<&'h str>,
    /// Its devices.
    pub devices: &'h [DeviceRequestAllocationResult],
}

impl<'a> NodeAllocatable<'a> {
    /// Those published; `None`: the gate is off.
    pub(crate) fn of(cycle: &Cycle<'a>) -> Option<Self> {
        let slices = || cycle.state.listers().resource_slices.iter().map(Arc::as_ref).collect();
        let on = cycle.profile.gates.on("DRANodeAllocatableResources");
        on.then(|| Self { slices: slices(), rules: &cycle.profile.rules })
    }

    /// Returns whether a claim has a device that represents a resource of its node.
    ///
    /// # Errors
    /// Several slices publish the device with different values.
    pub(crate) fn is_mapped(&self, claim: &Claim) -> Result<bool, Fault> {
        for result in results(claim) {
            if self.takes(result, None)?.is_ok_and(|takes| takes.iter().any(|take| take.is_mapped)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns what the devices of these claims consume of a node for a pod, by the name of the claim; `None`: they have none that could consume
    /// anything.
    /// If the pod names a claim twice, the last devices count.
    ///
    /// # Errors
    /// Upstream fails, or its result depends on which of several slices it finds first.
    pub(crate) fn takings(&self, pod: &PodInfo, node: &Node, holdings: &[Holding]) -> Result<Option<Vec<NodeAllocatableClaim>>, Fault> {
        let name = |holding: &Holding| holding.claim.metadata.name.as_deref().unwrap_or_default().to_owned();
        let last: BTreeMap<String, &Holding> = holdings.iter().map(|holding| (name(holding), holding)).collect();
        let mut takings = None;
        for (name, holding) in last {
            let mut takes_any = false;
            for result in holding.devices {
                takes_any |= self.takes(result, Some(node))?.is_ok_and(|takes| !takes.is_empty());
            }
            if takes_any {
                let taking = self.taking(node, holding)?;
                let named = |taking| NodeAllocatableClaim { claim: name.into(), containers: naming(pod, &holding.entries), ..taking };
                takings.get_or_insert_with(Vec::new).extend(taking.map(named));
            }
        }
        Ok(takings)
    }

    /// Returns what the devices of one claim consume (`buildNodeAllocatableDRAInfo`).
    fn taking(&self, node: &Node, holding: &Holding) -> Result<Option<NodeAllocatableClaim>, Fault> {
        let mut sums: [BTreeMap<&str, Amount>; 3] = Default::default();
        for result in holding.devices {
            let driver =
                if self.rules.node_allocatable_errors_name_driver() { format!(", driver {}", result.driver) } else { String::new() };
            let prefix = format!("claim {}, device {}{driver}", claim_name(holding.claim), result.device);
            let takes = self.takes(result, Some(node))?.map_err(|why| Fault::Error(format!("{prefix}: {why}")))?;
            for take in takes {
                let mapped = self.mapped(&take, holding.claim, result)?;
                for (sum, more) in sums.iter_mut().zip([mapped, take.per_pod, take.per_container]) {
                    if let Some(more) = more {
                        let known = sum.entry(take.resource).or_default();
                        *known = *known + more;
                    }
                }
            }
        }
        let nothing = sums.iter().all(BTreeMap::is_empty);
        let [mapped, per_pod, per_container] = sums.map(|sum| sum.into_iter().map(|(name, sum)| (name.into(), sum)).collect());
        Ok((!nothing).then(|| NodeAllocatableClaim { mapped, per_pod, per_container, ..NodeAllocatableClaim::default() }))
    }

    /// Returns how much of a resource a device represents; `None`: none.
    fn mapped(&self, take: &Take, claim: &Claim, result: &DeviceRequestAllocationResult) -> Result<Option<Amount>, Fault> {
        let Some(key) = take.capacity else { return Ok(take.each) };
        let Some(consumed) = &result.consumed_capacity else {
            let field = self.rules.node_allocatable_field();
            let what = format!("ConsumedCapacity is nil, but Capacity key '{key}' is set in {field} for resource {}", take.resource);
            return Err(Fault::Error(format!("claim {}, device {}: {what}", claim_name(claim), result.device)));
        };
        let Some(consumed) = consumed.get(key).map(amount) else { return Ok(None) };
        let Some(multiplier) = take.multiplier else { return Ok(Some(consumed)) };
        let finer = || Fault::Unknown(format!("what device {} takes of {} is not an amount this can hold", result.device, take.resource));
        consumed.times(multiplier).map(Some).ok_or_else(finer)
    }

    /// Returns what a device consumes, or upstream's message why it was not found (`getDeviceFromSlices`; 1.36 `getDeviceFromManager`).
    fn takes(&self, result: &DeviceRequestAllocationResult, node: Option<&Node>) -> Result<Result<Vec<Take<'a>>, String>, Fault> {
        let by_node_and_driver = self.rules.node_allocatable_by_node_and_driver();
        let node = node.filter(|_| by_node_and_driver);
        let is_asked = |slice: &&&Slice| {
            slice.spec.pool.name == result.pool
                && (!by_node_and_driver || slice.spec.driver == result.driver)
                && node.is_none_or(|node| is_published_for(slice, node))
        };
        let mut found: Option<Result<Vec<Take>, String>> = None;
        for slice in self.slices.iter().filter(is_asked) {
            let devices = slice.spec.devices.iter().flatten();
            let Some(device) = devices.into_iter().find(|device| device.name == result.device) else { continue };
            let own = slice.spec.per_device_node_selection == Some(true);
            let takes = match node.filter(|node| own && !device_matches(device, node)) {
                Some(_) => Err(format!("device {} does not match node", result.device)),
                None => Ok(self.of_device(device)),
            };
            if found.as_ref().is_some_and(|found| *found != takes) {
                let what = format!("several ResourceSlices of pool {} publish device {}", result.pool, result.device);
                return Err(Fault::Unknown(format!("{what}, and which of them the scheduler meets first is chance")));
            }
            found = Some(takes);
        }
        let driver =
            if self.rules.node_allocatable_errors_name_driver() { format!(" for driver {}", result.driver) } else { String::new() };
        Ok(found.unwrap_or_else(|| Err(format!("device {} not found in pool {}{driver}", result.device, result.pool))))
    }

    fn of_device(&self, device: &'a Device) -> Vec<Take<'a>> {
        if self.rules.node_allocatable_mappings() {
            return device.node_allocatable_resource_mappings.iter().flatten().map(|(name, mapping)| Take::first(name, mapping)).collect();
        }
        device.node_allocatable_resources.iter().flatten().map(|(name, resource)| Take::of(name, resource)).collect()
    }
}

impl<'s> Take<'s> {
    /// From the fields of 1.36.
    fn first(resource: &'s str, mapping: &'s NodeAllocatableResourceMapping) -> Self {
        let capacity = mapping.capacity_key.as_deref().filter(|key| !key.is_empty());
        let multiplier = mapping.allocation_multiplier.as_ref().map(amount);
        Self { resource, capacity, multiplier, each: Some(multiplier.unwrap_or_default()), is_mapped: true, ..Self::default() }
    }

    /// From the fields since 1.37.
    fn of(resource: &'s str, of: &'s NodeAllocatableResource) -> Self {
        let (mapping, overhead) = (of.mapping.as_ref(), of.overhead.as_ref());
        Self {
            resource,
            capacity: mapping.and_then(|mapping| mapping.capacity_key.as_deref()).filter(|key| !key.is_empty()),
            multiplier: mapping.and_then(|mapping| mapping.capacity_multiplier.as_ref()).map(amount),
            each: mapping.and_then(|mapping| mapping.device_multiplier.as_ref()).map(amount),
            per_pod: overhead.and_then(|overhead| overhead.per_pod.as_ref()).map(amount),
            per_container: overhead.and_then(|overhead| overhead.per_container.as_ref()).map(amount),
            is_mapped: mapping.is_some(),
        }
    }
}

/// The containers that name one of these claims, each as often as it does.
fn naming(pod: &PodInfo, entries: &[&str]) -> Vec<Arc<str>> {
    let requests = &pod.spec.requests;
    let times = |container: &ContainerRequests| container.claims.iter().filter(|claim| entries.contains(&&***claim)).count();
    let containers = requests.init_containers.iter().chain(&requests.containers);
    containers.flat_map(|container| std::iter::repeat_n(container.name.clone(), times(container))).collect()
}
