//! Evaluates device selectors: `k8s.io/dynamic-resource-allocation/cel`.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::api::resource::{DeviceAttribute, DeviceSelector};
use crate::cel::{CelError, Expression, Semver, Value};
use crate::cluster::Amount;
use crate::release::DeviceRules;

use super::Fault;
use super::capacity::is_shareable;
use super::pool::PoolDevice;

/// The fields of a device that selectors may use, the last not in every release.
const DEVICE_FIELDS: [&str; 4] = ["driver", "attributes", "capacity", "allowMultipleAllocations"];

/// How many characters of an expression are shown that exceeds a limit.
const MAX_EXPRESSION_CHARS: usize = 80;

/// Expressions about devices, each parsed once.
#[derive(Default)]
pub(super) struct Selectors(RwLock<HashMap<String, Arc<Result<Expression, CelError>>>>);

impl Selectors {
    /// Returns whether every selector matches the device; `whose` begins upstream's error.
    ///
    /// # Errors
    /// Upstream's error, or the part of an expression that is not modelled.
    pub(super) fn select(
        &self,
        selectors: &[DeviceSelector],
        device: &PoolDevice<'_>,
        whose: &str,
        rules: DeviceRules,
    ) -> Result<bool, Fault> {
        for (at, selector) in selectors.iter().enumerate() {
            let Some(cel) = &selector.cel else { continue };
            match self.evaluate(&cel.expression, device, rules) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Ok(false),
                Ok(_) => return Err(Fault::Unknown(format!("the expression {:?} of {whose} does not return a boolean", cel.expression))),
                Err(CelError::Error(error)) => return Err(Fault::Error(rules.selector_error(whose, at, device.id, &error))),
                Err(CelError::Compile(error)) => return Err(Fault::Error(format!("{whose}: selector #{at}: CEL compile error: {error}"))),
                Err(CelError::Limit(what)) => {
                    return Err(Fault::Unknown(format!("the expression {} of {whose} {what}", quoted(&cel.expression))));
                }
                Err(CelError::Unsupported(what)) => {
                    let what = format!("the expression {:?} of {whose} uses {what}, which is not modelled", cel.expression);
                    return Err(Fault::Unknown(what));
                }
            }
        }
        Ok(true)
    }

    pub(super) fn evaluate(&self, text: &str, device: &PoolDevice<'_>, rules: DeviceRules) -> Result<Value, CelError> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
        let parsed = known.unwrap_or_else(|| {
            let parsed = Arc::new(parse(text, rules));
            self.0.write().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned(), parsed.clone());
            parsed
        });
        match &*parsed {
            Ok(expression) => expression.evaluate(&[("device", described(device, rules)?)]),
            Err(fault) => Err(fault.clone()),
        }
    }
}

/// Quotes an expression, a long one truncated.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_EXPRESSION_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

fn parse(text: &str, rules: DeviceRules) -> Result<Expression, CelError> {
    let expression = Expression::parse(text)?;
    expression.refuse_fields("device", if rules.selects_multiple_allocations() { &DEVICE_FIELDS[..] } else { &DEVICE_FIELDS[..3] })?;
    Ok(expression)
}

/// The variable `device` of selectors: `k8s.io/dynamic-resource-allocation/cel`.
fn described(device: &PoolDevice<'_>, rules: DeviceRules) -> Result<Value, CelError> {
    let (driver, ..) = device.id;
    let mut attributes: HashMap<&str, Vec<(&str, Value)>> = HashMap::new();
    for (name, attribute) in device.device.attributes.iter().flatten() {
        let value = described_attribute(attribute, rules)
            .unwrap_or_else(|| Err(CelError::Error(format!("attribute {name}: unsupported attribute value"))))?;
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        attributes.entry(domain).or_default().push((id, value));
    }
    let mut capacity: HashMap<&str, Vec<(&str, Value)>> = HashMap::new();
    for (name, offered) in device.device.capacity.iter().flatten() {
        let value = Amount::parse(&offered.value.0).ok_or_else(|| CelError::Unsupported(format!("the quantity {:?}", offered.value.0)))?;
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

/// The value of an attribute; `None`: its type is not supported (lists are behind a gate).
fn described_attribute(attribute: &DeviceAttribute, rules: DeviceRules) -> Option<Result<Value, CelError>> {
    fn list<T>(values: Option<&Vec<T>>, lists: bool, value: impl Fn(&T) -> Result<Value, CelError>) -> Option<Result<Value, CelError>> {
        values.filter(|_| lists).map(|values| Ok(Value::list(values.iter().map(value).collect::<Result<_, _>>()?)))
    }
    let version =
        |text: &String| Semver::parse(text).map(Value::Semver).map_err(|error| CelError::Error(format!("parse semantic version: {error}")));
    let lists = rules.sees_lists();
    list(attribute.ints.as_ref(), lists, |value| Ok(Value::Int(*value)))
        .or_else(|| list(attribute.bools.as_ref(), lists, |value| Ok(Value::Bool(*value))))
        .or_else(|| list(attribute.strings.as_ref(), lists, |value| Ok(Value::string(value))))
        .or_else(|| list(attribute.versions.as_ref(), lists, version))
        .or_else(|| attribute.int.map(|value| Ok(Value::Int(value))))
        .or_else(|| attribute.bool.map(|value| Ok(Value::Bool(value))))
        .or_else(|| attribute.string.as_deref().map(|value| Ok(Value::string(value))))
        .or_else(|| attribute.version.as_ref().map(version))
}
