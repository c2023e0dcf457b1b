//! Pools: the devices of one driver that are accessible from a node. Upstream: `structured/internal/*/pools_*.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{Interner, Node, NodeSelectorTerm};
use crate::kube::api::core::v1::NodeSelector;
use crate::kube::api::resource::v1::{Device, ResourceSlice};

use super::{DeviceId, Features};

/// A device and where it is published.
#[derive(Clone, Copy)]
pub struct PoolDevice<'a> {
    /// Its id.
    pub id: DeviceId<'a>,
    /// What is said of it.
    pub device: &'a Device,
    /// The slice that lists it.
    pub slice: &'a ResourceSlice,
}

/// The slices of a pool's newest generation that matter for a node.
pub struct Pool<'a> {
    /// Its driver.
    pub driver: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its slices.
    pub slices: Vec<&'a ResourceSlice>,
    /// Whether slices are missing: the driver is just publishing it.
    pub incomplete: bool,
    /// Why it is not valid, if it is not.
    pub invalid: Option<String>,
}

impl<'a> Pool<'a> {
    /// Its devices, in order.
    pub fn devices(&self) -> impl Iterator<Item = PoolDevice<'a>> {
        let (driver, name) = (self.driver, self.name);
        let slices = self.slices.clone();
        slices.into_iter().flat_map(move |slice| {
            let devices = slice.spec.devices.iter().flatten();
            devices.map(move |device| PoolDevice { id: (driver, name, &device.name), device, slice })
        })
    }
}

/// `GatherPools`: by driver and name, ascending. (Upstream's order is that of a Go map.)
pub fn gather<'a>(slices: &'a [Arc<ResourceSlice>], node: &Node, features: Features, release: u16) -> Vec<Pool<'a>> {
    let mut pools: BTreeMap<(&str, &str), Vec<&ResourceSlice>> = BTreeMap::new();
    for slice in slices {
        let spec = &slice.spec;
        if (!features.partitionable && spec.per_device_node_selection.is_some()) || !is_relevant(slice, node) {
            continue;
        }
        let known = pools.entry((&spec.driver, &spec.pool.name)).or_default();
        match known.first().map(|first| first.spec.pool.generation) {
            Some(generation) if spec.pool.generation < generation => continue,
            Some(generation) if spec.pool.generation > generation => known.clear(),
            _ => {}
        }
        known.push(slice);
    }
    let pools = pools.into_iter().filter_map(|((driver, name), found)| {
        let pool = &found.first()?.spec.pool;
        let complete = |count: usize| i64::try_from(count).is_ok_and(|count| count == pool.resource_slice_count);
        let mut incomplete = !complete(found.len());
        if incomplete && release >= 35 {
            // Since 1.35 slices of other nodes count too, and a newer generation anywhere makes this one obsolete.
            let same = slices.iter().filter(|slice| slice.spec.driver == driver && slice.spec.pool.name == name);
            let generations: Vec<i64> = same.map(|slice| slice.spec.pool.generation).collect();
            if generations.iter().any(|generation| *generation > pool.generation) {
                return None;
            }
            incomplete = !complete(generations.iter().filter(|generation| **generation == pool.generation).count());
        }
        let invalid = invalid(&found);
        Some(Pool { driver, name, slices: found, incomplete, invalid })
    });
    pools.collect()
}

/// Whether a slice has devices for the node.
fn is_relevant(slice: &ResourceSlice, node: &Node) -> bool {
    let spec = &slice.spec;
    let name = spec.node_name.as_deref().unwrap_or_default();
    let all = spec.all_nodes == Some(true);
    if !name.is_empty() || all || spec.node_selector.is_some() {
        return matches(node, name, all, spec.node_selector.as_ref());
    }
    spec.per_device_node_selection == Some(true) && spec.devices.iter().flatten().any(|device| device_matches(device, node))
}

/// Whether a device that is selected for nodes by itself is for this node.
pub fn device_matches(device: &Device, node: &Node) -> bool {
    matches(node, device.node_name.as_deref().unwrap_or_default(), device.all_nodes == Some(true), device.node_selector.as_ref())
}

fn matches(node: &Node, name: &str, all: bool, selector: Option<&NodeSelector>) -> bool {
    if !name.is_empty() { *node.name == *name } else { all || selector.is_some_and(|selector| selects(selector, node)) }
}

/// Whether a node selector matches a node.
pub fn selects(selector: &NodeSelector, node: &Node) -> bool {
    let mut interner = Interner::default();
    selector.node_selector_terms.iter().any(|term| NodeSelectorTerm::compile(term, &mut interner).matches(&node.name, &node.labels))
}

fn invalid(slices: &[&ResourceSlice]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut names = slices.iter().flat_map(|slice| slice.spec.devices.iter().flatten()).map(|device| device.name.as_str());
    names.find(|name| !seen.insert(*name)).map(|name| format!("duplicate device name {name}"))
}
