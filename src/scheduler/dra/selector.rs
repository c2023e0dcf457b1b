//! Selectors of devices, evaluated: `k8s.io/dynamic-resource-allocation/cel`.

use std::collections::HashMap;

use crate::cluster::Amount;
use crate::kube::api::resource::v1::DeviceSelector;
use crate::scheduler::cel::{Expression, Fault as CelFault, Semver, Value};

use super::Fault;
use super::consumption::is_shareable;
use super::pool::PoolDevice;

/// Whether every selector matches the device; `whose` begins upstream's error.
///
/// # Errors
/// Upstream's error, or what an expression uses that is not modelled.
pub fn selects(selectors: &[DeviceSelector], device: &PoolDevice<'_>, whose: &str) -> Result<bool, Fault> {
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
        let value = Amount::parse(&offered.value.0).ok_or_else(|| CelFault::Unsupported(format!("the quantity {:?}", offered.value.0)))?;
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
