//! Attributes of a device that constraints compare: those it publishes, and those a request derives (DRADerivedAttributes, 1.37).
//! Upstream: `lookupAttribute`, `structured/internal/experimental/allocator_experimental.go`; `cel.EvaluateDerivedAttribute`.

use std::borrow::Cow;

use crate::api::resource::{DeviceAttribute, DeviceDerivedAttribute};
use crate::cel::{CelError, Value};
use crate::release::DeviceRules;

use super::Fault;
use super::pool::PoolDevice;
use super::selector::Selectors;

/// Returns the attribute of this full name that constraints compare; `None`: the device has none.
///
/// # Errors
/// Upstream's error where it cannot be derived, or the part of the expression that is not modelled.
pub(super) fn lookup<'d>(
    name: &str,
    derived: &[DeviceDerivedAttribute],
    device: &PoolDevice<'d>,
    selectors: &Selectors,
    rules: DeviceRules,
) -> Result<Option<Cow<'d, DeviceAttribute>>, Fault> {
    // If two have the same name, the last one wins.
    match derived.iter().rev().find(|derived| derived.name == name) {
        Some(derived) => derive(derived, device, selectors, rules).map(|attribute| Some(Cow::Owned(attribute))),
        None => Ok(published(name, device).map(Cow::Borrowed)),
    }
}

/// Returns an attribute by its full name, or without its domain where that is the driver's.
fn published<'d>(name: &str, device: &PoolDevice<'d>) -> Option<&'d DeviceAttribute> {
    let attributes = device.device.attributes.as_ref()?;
    attributes.get(name).or_else(|| {
        let (domain, name) = name.split_once('/')?;
        attributes.get(name).filter(|_| domain == device.id.0)
    })
}

fn derive(
    derived: &DeviceDerivedAttribute,
    device: &PoolDevice<'_>,
    selectors: &Selectors,
    rules: DeviceRules,
) -> Result<DeviceAttribute, Fault> {
    let (name, (driver, pool, id)) = (&derived.name, device.id);
    let unknown = |what: &str| Fault::Unknown(format!("the derived attribute {name} is {what}, which is not modelled"));
    match selectors.evaluate(&derived.expression, device, rules) {
        Ok(value) => attribute(&value).ok_or_else(|| unknown("of a type that the compiler may refuse")),
        Err(CelError::Error(error)) => {
            Err(Fault::Error(format!("evaluate derived attribute {name} on device {driver}/{pool}/{id} failed: {error}")))
        }
        Err(CelError::Compile(error)) => Err(Fault::Error(format!("compile derived attribute {name} failed: {error}"))),
        Err(CelError::Limit(what)) => Err(unknown(&format!("made by an expression that {what}"))),
        Err(CelError::Unsupported(what)) => Err(unknown(&format!("made with {what}"))),
    }
}

/// `valToDeviceAttribute`; an empty list is one of strings.
fn attribute(value: &Value) -> Option<DeviceAttribute> {
    let mut made = DeviceAttribute::default();
    match value {
        Value::Bool(value) => made.bool = Some(*value),
        Value::Int(value) => made.int = Some(*value),
        Value::String(value) => made.string = Some(value.to_string()),
        Value::Semver(value) => made.version = Some(value.to_string()),
        Value::List(values) => match values.first() {
            None => made.strings = Some(Vec::new()),
            Some(Value::Bool(_)) => made.bools = Some(each(values, |made| made.bool)?),
            Some(Value::Int(_)) => made.ints = Some(each(values, |made| made.int)?),
            Some(Value::String(_)) => made.strings = Some(each(values, |made| made.string)?),
            Some(Value::Semver(_)) => made.versions = Some(each(values, |made| made.version)?),
            Some(_) => return None,
        },
        _ => return None,
    }
    Some(made)
}

fn each<T>(values: &[Value], of: impl Fn(DeviceAttribute) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(|value| attribute(value).and_then(&of)).collect()
}
