//! Claims as they are once the devices found are allocated to them. Upstream: `allocator.Allocate`, `createNodeSelector`, `Reserve`.

use crate::api::core::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use crate::api::meta::Quantity;
use crate::api::resource::{AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult};
use crate::cluster::{Amount, Claim};

use super::capacity::Amounts;
use super::search::{DeviceResult, DeviceSearch};

pub(crate) fn results(claim: &Claim) -> &[DeviceRequestAllocationResult] {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    allocation.and_then(|allocation| allocation.devices.as_ref()?.results.as_deref()).unwrap_or_default()
}

/// An allocation as a claim's status holds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    result: AllocationResult,
}

impl Given {
    pub(crate) fn had(claim: &Claim) -> Option<Self> {
        claim.status.as_ref()?.allocation.clone().map(|result| Self { result })
    }

    pub(crate) fn results(&self) -> &[DeviceRequestAllocationResult] {
        self.result.devices.as_ref().and_then(|devices| devices.results.as_deref()).unwrap_or_default()
    }

    /// The requests (`request/alternative`) its devices serve.
    pub(crate) fn served(&self) -> impl Iterator<Item = &str> {
        self.results().iter().map(|result| result.request.as_str())
    }

    pub(crate) fn to(self, claim: &Claim) -> Claim {
        let mut claim = claim.clone();
        claim.status.get_or_insert_default().allocation = Some(self.result);
        claim
    }
}

impl DeviceSearch<'_, '_> {
    /// Returns what the search found, as claims would hold it.
    pub(super) fn given(&self) -> Vec<Given> {
        let one = |found: &Vec<DeviceResult<'_>>| Given {
            result: AllocationResult {
                allocation_timestamp: None,
                devices: Some(DeviceAllocationResult { results: Some(found.iter().map(written).collect()) }),
                node_selector: selector(found, &self.node.name),
            },
        };
        self.found.iter().map(one).collect()
    }
}

fn written(found: &DeviceResult<'_>) -> DeviceRequestAllocationResult {
    let (driver, pool, device) = found.device.id;
    DeviceRequestAllocationResult {
        request: found.request.clone(),
        driver: driver.to_owned(),
        pool: pool.to_owned(),
        device: device.to_owned(),
        admin_access: found.admin_access.then_some(true),
        binding_conditions: found.device.device.binding_conditions.clone(),
        binding_failure_conditions: found.device.device.binding_failure_conditions.clone(),
        // Its value is random; only its presence matters.
        share_id: found.shared.is_some().then(String::new),
        consumed_capacity: found.shared.as_ref().map(quantities),
        skip_node_operations: found.device.slice.spec.skip_node_operations.clone(),
    }
}

fn quantities(amounts: &Amounts) -> std::collections::BTreeMap<String, Quantity> {
    let text = |amount: Amount| amount.units().map_or_else(|| format!("{}m", amount.milli_value()), |units| units.to_string());
    amounts.iter().map(|(name, amount)| (name.clone(), Quantity(text(*amount)))).collect()
}

/// The nodes on which the devices are available; `None`: all.
fn selector(found: &[DeviceResult<'_>], node: &str) -> Option<NodeSelector> {
    let mut all = NodeSelectorTerm::default();
    let (fields, labels) = (all.match_fields.get_or_insert_default(), all.match_expressions.get_or_insert_default());
    for DeviceResult { device, .. } in found {
        let spec = &device.slice.spec;
        let (name, selector) = match spec.per_device_node_selection {
            Some(true) => (&device.device.node_name, &device.device.node_selector),
            _ => (&spec.node_name, &spec.node_selector),
        };
        if name.as_ref().is_some_and(|name| !name.is_empty()) || device.device.binds_to_node == Some(true) {
            return Some(only(node));
        }
        let term = selector.as_ref().and_then(|selector| selector.node_selector_terms.first());
        let Some(term) = term else { continue };
        add(fields, term.match_fields.as_deref());
        add(labels, term.match_expressions.as_deref());
    }
    (!fields.is_empty() || !labels.is_empty()).then(|| NodeSelector { node_selector_terms: vec![all] })
}

fn only(node: &str) -> NodeSelector {
    let name = NodeSelectorRequirement { key: "metadata.name".to_owned(), operator: "In".to_owned(), values: Some(vec![node.to_owned()]) };
    NodeSelector { node_selector_terms: vec![NodeSelectorTerm { match_fields: Some(vec![name]), match_expressions: None }] }
}

fn add(to: &mut Vec<NodeSelectorRequirement>, more: Option<&[NodeSelectorRequirement]>) {
    for requirement in more.unwrap_or_default() {
        if !to.contains(requirement) {
            to.push(requirement.clone());
        }
    }
}
