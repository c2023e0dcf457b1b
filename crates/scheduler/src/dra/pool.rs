//! Pools: the devices of one driver that are accessible from a node. Upstream: `structured/internal/*/pools_*.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::core::NodeSelector;
use crate::api::resource::{CounterSet, Device};
use crate::cluster::{Interner, Node, NodeTerm, Slice};
use crate::release::DeviceRules;

use super::DeviceId;
use super::slices::{Slices, has_counters};

/// A device and its place in the published slices.
#[derive(Clone, Copy)]
pub(super) struct PoolDevice<'a> {
    /// Its id.
    pub id: DeviceId<'a>,
    /// Its spec.
    pub device: &'a Device,
    /// The slice that lists it.
    pub slice: &'a Slice,
}

impl<'a> PoolDevice<'a> {
    pub(super) fn new((driver, pool): (&'a str, &'a str), device: &'a Device, slice: &'a Slice) -> Self {
        Self { id: (driver, pool, &device.name), device, slice }
    }

    /// Its compatibility groups, by counter set; without the gate slices with any are ignored.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&'a str, &'a [String])> {
        let sets = self.device.consumes_counters.iter().flatten();
        sets.map(|set| (set.counter_set.as_str(), set.compatibility_groups.as_deref().unwrap_or_default()))
    }
}

/// The slices of a pool's newest generation that are relevant for a node.
pub(super) struct Pool<'a> {
    /// Its driver.
    pub driver: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its slices that have devices for the node.
    pub slices: Vec<&'a Slice>,
    /// Its other slices.
    pub elsewhere: Vec<&'a Slice>,
    /// Its shared counters, where they belong to the pool.
    pub counter_sets: Vec<&'a CounterSet>,
    /// Whether slices are missing: the driver is still publishing it.
    pub incomplete: bool,
    /// Whether slices of an older generation exist, too.
    pub renewed: bool,
    /// Why it is not valid, if it is not.
    pub invalid: Option<String>,
}

impl<'a> Pool<'a> {
    /// Its devices, in order.
    pub(super) fn devices(&self) -> impl Iterator<Item = PoolDevice<'a>> {
        self.devices_of(self.slices.clone())
    }

    pub(super) fn devices_elsewhere(&self) -> impl Iterator<Item = PoolDevice<'a>> {
        self.devices_of(self.elsewhere.clone())
    }

    fn devices_of(&self, slices: Vec<&'a Slice>) -> impl Iterator<Item = PoolDevice<'a>> + use<'a> {
        let (driver, name) = (self.driver, self.name);
        slices.into_iter().flat_map(move |slice| {
            let devices = slice.spec.devices.iter().flatten();
            devices.map(move |device| PoolDevice::new((driver, name), device, slice))
        })
    }
}

/// `GatherPools`: sorted by driver and name, those with binding conditions last in releases that sort them so.
/// (Where upstream does not sort, its order is that of a Go map.)
pub(super) fn gather<'a>(slices: &'a Slices, node: &Node, rules: DeviceRules) -> Vec<Pool<'a>> {
    let mut pools: BTreeMap<(&str, &str), Vec<&Slice>> = BTreeMap::new();
    let mut relevant: Vec<&Slice> = slices.near(&node.name).filter(|slice| is_relevant(slice, node, rules)).collect();
    let binding_last = rules.knows_capacity();
    if rules.sorts_slices_by_binding() {
        relevant.sort_by_key(|slice| binds(slice));
    }
    let mut renewed = BTreeSet::new();
    for slice in relevant {
        let spec = &slice.spec;
        let known = pools.entry((&spec.driver, &spec.pool.name)).or_default();
        match known.first().map(|first| first.spec.pool.generation) {
            Some(generation) if spec.pool.generation < generation => {
                renewed.insert((&*spec.driver, &*spec.pool.name));
                continue;
            }
            Some(generation) if spec.pool.generation > generation => {
                renewed.insert((&*spec.driver, &*spec.pool.name));
                known.clear();
            }
            _ => {}
        }
        known.push(slice);
    }
    let mut pools: Vec<Pool> =
        pools.into_iter().filter_map(|((driver, name), found)| build(driver, name, found, slices.all(), rules)).collect();
    for pool in &mut pools {
        pool.renewed = renewed.contains(&(pool.driver, pool.name));
    }
    if binding_last {
        // Where counters belong to pools, unusable pools have no slices to read.
        let usable = |pool: &Pool| !rules.pools_count() || (!pool.incomplete && pool.invalid.is_none());
        pools.sort_by_key(|pool| usable(pool) && pool.slices.iter().any(|slice| binds(slice)));
    }
    pools
}

fn build<'a>(driver: &'a str, name: &'a str, found: Vec<&'a Slice>, all: &'a [Arc<Slice>], rules: DeviceRules) -> Option<Pool<'a>> {
    let wanted = found.first()?.spec.pool.clone();
    let complete = |count: usize| i64::try_from(count).is_ok_and(|count| count == wanted.resource_slice_count);
    let mut pool = Pool {
        driver,
        name,
        slices: found,
        elsewhere: Vec::new(),
        counter_sets: Vec::new(),
        incomplete: false,
        renewed: false,
        invalid: None,
    };
    if !complete(pool.slices.len()) {
        pool.incomplete = true;
        if rules.counts_slices_of_other_nodes() {
            let same = all.iter().map(Arc::as_ref).filter(|slice| slice.spec.driver == driver && slice.spec.pool.name == name);
            let (mut count, at) = (0, wanted.generation);
            for slice in same {
                match slice.spec.pool.generation.cmp(&at) {
                    std::cmp::Ordering::Greater => return None,
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal if is_grouped(slice, rules) => {}
                    std::cmp::Ordering::Equal => {
                        count += 1;
                        let known = pool.slices.iter().any(|known| std::ptr::eq(*known, slice));
                        pool.elsewhere.extend((!known).then_some(slice));
                    }
                }
            }
            pool.incomplete = !complete(count);
        }
    }
    if pool.incomplete && rules.pools_count() {
        return Some(pool);
    }
    let mut consuming = Vec::new();
    if rules.pools_count() && rules.partitionable {
        let counting = pool.slices.iter().chain(&pool.elsewhere).filter(|slice| has_counters(slice));
        pool.counter_sets = counting.flat_map(|slice| slice.spec.shared_counters.iter().flatten()).collect();
        pool.slices.retain(|slice| !has_counters(slice));
        pool.elsewhere.retain(|slice| !has_counters(slice));
        consuming = pool.slices.iter().chain(&pool.elsewhere).copied().collect();
    }
    pool.invalid = twice_named(&pool.slices).filter(|_| rules.validates_pools());
    if rules.pools_count() && rules.partitionable && pool.invalid.is_none() {
        pool.invalid = miscounted(&pool.counter_sets, &consuming);
    }
    Some(pool)
}

/// Whether a slice has devices for the node, or counters for those that have.
fn is_relevant(slice: &Slice, node: &Node, rules: DeviceRules) -> bool {
    let spec = &slice.spec;
    let counts = has_counters(slice);
    if is_grouped(slice, rules) {
        return false;
    }
    if !rules.partitionable && (spec.per_device_node_selection.is_some() || (counts && rules.gates_slices_with_counters())) {
        return false;
    }
    if counts && rules.pools_count() && rules.counters_anywhere() {
        return true;
    }
    let name = spec.node_name.as_deref().unwrap_or_default();
    let all = spec.all_nodes == Some(true);
    if !name.is_empty() || all || spec.node_selector.is_some() {
        return matches(node, name, all, spec.node_selector.as_ref());
    }
    spec.per_device_node_selection == Some(true) && spec.devices.iter().flatten().any(|device| device_matches(device, node))
}

/// Whether a slice has devices with compatibility groups and their gate is off.
fn is_grouped(slice: &Slice, rules: DeviceRules) -> bool {
    let consumed = || slice.spec.devices.iter().flatten().flat_map(|device| device.consumes_counters.iter().flatten());
    rules.leaves_out_groups() && consumed().any(|consumed| consumed.compatibility_groups.as_ref().is_some_and(|groups| !groups.is_empty()))
}

fn binds(slice: &Slice) -> bool {
    slice.spec.devices.iter().flatten().any(|device| device.binding_conditions.is_some())
}

/// Whether a device with its own node selection is for this node.
pub(super) fn device_matches(device: &Device, node: &Node) -> bool {
    matches(node, device.node_name.as_deref().unwrap_or_default(), device.all_nodes == Some(true), device.node_selector.as_ref())
}

fn matches(node: &Node, name: &str, all: bool, selector: Option<&NodeSelector>) -> bool {
    if !name.is_empty() { *node.name == *name } else { all || selector.is_some_and(|selector| selects(selector, node)) }
}

/// Whether a slice is for a node, or each of its devices has its own node selection.
pub(super) fn is_published_for(slice: &Slice, node: &Node) -> bool {
    let spec = &slice.spec;
    let name = spec.node_name.as_deref().unwrap_or_default();
    matches(node, name, spec.all_nodes == Some(true), spec.node_selector.as_ref()) || spec.per_device_node_selection == Some(true)
}

pub(crate) fn selects(selector: &NodeSelector, node: &Node) -> bool {
    let mut interner = Interner::default();
    selector.node_selector_terms.iter().any(|term| NodeTerm::compile(term, &mut interner).matches(&node.name, &node.labels))
}

fn twice_named(slices: &[&Slice]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut names = slices.iter().flat_map(|slice| slice.spec.devices.iter().flatten()).map(|device| device.name.as_str());
    names.find(|name| !seen.insert(*name)).map(|name| format!("duplicate device name {name}"))
}

/// The error in a pool's counters: duplicate sets, or devices that consume counters that do not exist.
fn miscounted(sets: &[&CounterSet], slices: &[&Slice]) -> Option<String> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = sets.iter().find(|set| !seen.insert(&set.name)) {
        return Some(format!("duplicate counter set name {}", twice.name));
    }
    let devices = slices.iter().flat_map(|slice| slice.spec.devices.iter().flatten());
    let mut consumed = devices.flat_map(|device| device.consumes_counters.iter().flatten());
    consumed.find_map(|consumption| {
        let Some(set) = sets.iter().find(|set| set.name == consumption.counter_set) else {
            return Some(format!("counter set {} not found", consumption.counter_set));
        };
        let unknown = consumption.counters.keys().find(|name| !set.counters.contains_key(*name))?;
        Some(format!("counter {unknown} not found in counter set {}", set.name))
    })
}
