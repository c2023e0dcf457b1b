//! Named resources, the structured parameters of 1.30: `plugins/dynamicresources/structured/namedresources/namedresourcesmodel.go`,
//! `plugins/dynamicresources/structuredparameters.go`, `k8s.io/dynamic-resource-allocation/structured/namedresources/cel`.

use std::collections::BTreeMap;

use crate::cel::{CelError, Expression, Semver, Value};
use crate::cluster::device::named_resources::{NamedAttribute, NamedResource, NamedResourcesSelector};
use crate::cluster::{Amount, ClusterState, Node};

use super::Stop;
use super::parameters::Parameters;
use crate::dra::Fault;
use crate::dra::selector::quoted;

/// The requests of a claim to each driver.
pub(super) struct Controller {
    drivers: BTreeMap<String, Wants>,
}

/// The requests to one driver.
#[derive(Default)]
struct Wants {
    filter: Option<String>,
    requests: Vec<String>,
}

impl Controller {
    /// `newClaimController`.
    pub(super) fn new(parameters: &Parameters) -> Result<Self, Stop> {
        let mut drivers: BTreeMap<String, Wants> = BTreeMap::new();
        for (at, of_driver) in parameters.claim.driver_requests.iter().enumerate() {
            for (number, request) in of_driver.requests.iter().enumerate() {
                let Some(NamedResourcesSelector { selector }) = &request.named_resources else {
                    let name = &parameters.claim_name;
                    let place = format!("driverRequersts[{at}].requests[{number}]");
                    return Err(Stop::Failed(format!("claim parameters {name}: {place}: no supported structured parameters found")));
                };
                drivers.entry(of_driver.driver_name.clone()).or_default().requests.push(selector.clone());
            }
        }
        for (driver, wants) in &mut drivers {
            let mut filters = parameters.class.filters.iter().filter(|filter| filter.driver_name == *driver);
            wants.filter = filters.find_map(|filter| filter.named_resources.as_ref()).map(|filter| filter.selector.clone());
        }
        Ok(Self { drivers })
    }

    /// `nodeIsSuitable`. Upstream iterates over drivers and their slices in random order.
    ///
    /// # Errors
    /// Upstream's reason, or that the order decides.
    pub(super) fn suits(&self, node: &Node, state: &ClusterState) -> Result<bool, Fault> {
        let mut answers = Vec::new();
        for (driver, wants) in &self.drivers {
            let mut slices = resources(node, driver, state);
            let answer = wants.met_by(slices.iter().copied().flatten(), &taken(node, driver, state));
            slices.reverse();
            let other = wants.met_by(slices.iter().copied().flatten(), &taken(node, driver, state));
            if answer != other {
                return Err(chance());
            }
            answers.push(answer.map_err(|fault| match fault {
                Fault::Error(error) => {
                    Fault::Error(format!("checking node \"{}\" and resources of driver \"{driver}\": {error}", node.name))
                }
                other => other,
            }));
        }
        let bad: Vec<&Result<bool, Fault>> = answers.iter().filter(|answer| **answer != Ok(true)).collect();
        match bad.as_slice() {
            [] => Ok(true),
            [first, rest @ ..] if rest.iter().all(|other| other == first) => (*first).clone(),
            _ => Err(chance()),
        }
    }
}

fn chance() -> Fault {
    Fault::Unknown("the scheduler takes drivers and resource slices in random order, and the answer depends on it".to_owned())
}

/// The resources of a driver on a node, slice by slice.
fn resources<'s>(node: &Node, driver: &str, state: &'s ClusterState) -> Vec<&'s [NamedResource]> {
    let slices = state.listers().resource_slices.iter().filter_map(|slice| slice.older.as_ref());
    let own = slices.filter(|slice| *slice.node_name == *node.name && slice.driver_name == driver);
    own.map(|slice| slice.named_resources.instances.as_slice()).collect()
}

/// The names of allocated resources, each as often as it is allocated.
fn taken<'s>(node: &Node, driver: &str, state: &'s ClusterState) -> Vec<&'s str> {
    let allocations = state.listers().resource_claims.iter().filter_map(|claim| claim.older.as_ref()?.status.allocation.as_ref());
    let handles = allocations.flat_map(|allocation| &allocation.resource_handles).filter(|handle| handle.driver_name == driver);
    let data = handles.filter_map(|handle| handle.structured_data.as_ref()).filter(|data| *data.node_name == *node.name);
    data.flat_map(|data| &data.results).filter_map(|result| result.named_resources.as_ref()).map(|named| named.name.as_str()).collect()
}

impl Wants {
    /// Whether every request gets a resource: each takes the first free one that matches.
    fn met_by<'s>(&self, resources: impl Iterator<Item = &'s NamedResource>, taken: &[&str]) -> Result<bool, Fault> {
        let mut resources: Vec<(&NamedResource, bool)> = resources.map(|resource| (resource, false)).collect();
        for name in taken {
            if let Some((_, taken)) = resources.iter_mut().find(|(resource, _)| resource.name == *name) {
                *taken = true;
            }
        }
        let mut served = 0;
        for request in &self.requests {
            for (resource, taken) in resources.iter_mut().filter(|(_, taken)| !*taken) {
                let passes = self.filter.as_ref().map_or(Ok(true), |filter| holds(filter, "filter", resource))?;
                if passes && holds(request, "request", resource)? {
                    *taken = true;
                    served += 1;
                    break;
                }
            }
        }
        Ok(served == self.requests.len())
    }
}

/// Whether an expression is true for a resource; `whose` is part of upstream's error.
fn holds(text: &str, whose: &str, resource: &NamedResource) -> Result<bool, Fault> {
    let result = described(&resource.attributes).and_then(|attributes| Expression::parse(text)?.evaluate(&[("attributes", attributes)]));
    match result {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(_) => Err(Fault::Unknown(format!("the expression {text:?} does not return a boolean"))),
        Err(CelError::Error(error)) => Err(Fault::Error(format!("evaluate {whose} CEL expression: {error}"))),
        Err(CelError::Compile(_)) => Err(Fault::Unknown(format!("the expression {text:?} is refused by the compiler"))),
        Err(CelError::Limit(what)) => Err(Fault::Unknown(format!("the expression {} {what}", quoted(text)))),
        Err(CelError::Unsupported(what)) => Err(Fault::Unknown(format!("the expression {text:?} uses {what}, which is not modelled"))),
    }
}

/// The variables `attributes.int` and so on.
fn described(attributes: &[NamedAttribute]) -> Result<Value, CelError> {
    let mut by_type: BTreeMap<&str, Vec<(&str, Value)>> =
        ["quantity", "bool", "int", "intslice", "string", "stringslice", "version"].map(|name| (name, Vec::new())).into();
    for attribute in attributes {
        let unread = |text: &String| CelError::Unsupported(format!("the value {text:?}"));
        let quantity = attribute.quantity.as_ref().map(|text| Amount::parse(text).map(Value::Quantity).ok_or_else(|| unread(text)));
        let version = attribute.version.as_ref().map(|text| Semver::parse(text).map(Value::Semver).map_err(|_| unread(text)));
        let ints = attribute.int_slice.as_ref().map(|list| Value::list(list.ints.iter().map(|int| Value::Int(*int)).collect()));
        let strings =
            attribute.string_slice.as_ref().map(|list| Value::list(list.strings.iter().map(|text| Value::string(text)).collect()));
        let values = [
            ("quantity", quantity.transpose()?),
            ("bool", attribute.bool.map(Value::Bool)),
            ("int", attribute.int.map(Value::Int)),
            ("intslice", ints),
            ("string", attribute.string.as_deref().map(Value::string)),
            ("stringslice", strings),
            ("version", version.transpose()?),
        ];
        for (name, value) in values {
            by_type.entry(name).or_default().extend(value.map(|value| (attribute.name.as_str(), value)));
        }
    }
    Ok(Value::map(by_type.into_iter().map(|(name, values)| (name, Value::map(values)))))
}
