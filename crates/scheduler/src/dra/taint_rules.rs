//! DeviceTaintRules: taints that are put on devices from outside. Upstream: `resourceslice/tracker/tracker.go` applyPatches.

use std::sync::Arc;

use crate::api::resource::DeviceSelector;
use crate::cluster::{ClusterState, DeviceTaintRule, Slice};
use crate::release::DeviceRules;

use super::Fault;
use super::pool::PoolDevice;
use super::selector::Selectors;

/// Returns the published slices, each device with the taints that rules add to it.
///
/// # Errors
/// The part of a rule's selector that is not modelled.
pub(super) fn published(state: &ClusterState, known: &Selectors, rules: DeviceRules) -> Result<Vec<Arc<Slice>>, Fault> {
    let listers = state.listers();
    let applied: Vec<&DeviceTaintRule> =
        if rules.taint_rules { listers.device_taint_rules.iter().map(Arc::as_ref).collect() } else { Vec::new() };
    let slices = listers.resource_slices.iter();
    slices.map(|slice| if applied.is_empty() { Ok(slice.clone()) } else { tainted(slice, &applied, (state, known), rules) }).collect()
}

fn tainted(
    slice: &Arc<Slice>,
    applied: &[&DeviceTaintRule],
    (state, known): (&ClusterState, &Selectors),
    rules: DeviceRules,
) -> Result<Arc<Slice>, Fault> {
    let mut patched = Slice::clone(slice);
    let devices = slice.spec.devices.iter().flatten();
    for (device, to) in devices.zip(patched.spec.devices.iter_mut().flatten()) {
        let device = PoolDevice::new((&slice.spec.driver, &slice.spec.pool.name), device, slice);
        for rule in applied {
            if applies(rule, &device, (state, known), rules)? {
                to.taints.get_or_insert_default().push(rule.spec.taint.clone());
            }
        }
    }
    Ok(Arc::new(patched))
}

/// Whether a rule applies to a device. A selector that fails matches nothing.
fn applies(
    rule: &DeviceTaintRule,
    device: &PoolDevice<'_>,
    (state, known): (&ClusterState, &Selectors),
    rules: DeviceRules,
) -> Result<bool, Fault> {
    let Some(wanted) = &rule.spec.device_selector else { return Ok(rules.taint_rules_default_to_all()) };
    let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    if !is(&wanted.driver, device.id.0) || !is(&wanted.pool, device.id.1) || !is(&wanted.device, device.id.2) {
        return Ok(false);
    }
    if !rules.taint_rules_select() {
        return Ok(true);
    }
    let matches = |selectors: &[DeviceSelector]| match known.select(selectors, device, "DeviceTaintRule", rules) {
        Err(Fault::Error(_)) => Ok(false),
        other => other,
    };
    if let Some(class) = &wanted.device_class_name {
        let Some(class) = state.listers().device_classes.get("", class) else { return Ok(false) };
        if !matches(class.spec.selectors.as_deref().unwrap_or_default())? {
            return Ok(false);
        }
    }
    matches(&wanted.selectors)
}
