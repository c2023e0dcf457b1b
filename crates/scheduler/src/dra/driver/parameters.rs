//! The parameters of a class and a claim in 1.30: `lookupParameters`, `plugins/dynamicresources/dynamicresources.go`.

use std::sync::Arc;

use crate::cluster::Listers;
use crate::cluster::device::classic::{DriverClaim, ParametersReference, ResourceClass};
use crate::cluster::device::named_resources::{
    DriverRequests, NamedResourcesSelector, ResourceClaimParameters, ResourceClassParameters, ResourceRequest,
};

use super::Stop;

const GROUP: &str = "resource.k8s.io";

/// The parameters of a class and a claim.
pub(super) struct Parameters {
    /// Those of the class.
    pub class: Arc<ResourceClassParameters>,
    /// Those of the claim.
    pub claim: Arc<ResourceClaimParameters>,
    /// `namespace/name` of the latter.
    pub claim_name: String,
}

/// Returns the parameters of a claim; `None`: several match one reference.
///
/// # Errors
/// They do not exist.
pub(super) fn of(class: &ResourceClass, claim: &DriverClaim, namespace: &str, listers: &Listers) -> Result<Option<Parameters>, Stop> {
    let Some(of_class) = of_class(class, listers)? else { return Ok(None) };
    let found = of_claim(class, claim, namespace, listers)?;
    Ok(found.map(|(claim, claim_name)| Parameters { class: of_class, claim, claim_name }))
}

fn of_class(class: &ResourceClass, listers: &Listers) -> Result<Option<Arc<ResourceClassParameters>>, Stop> {
    let Some(reference) = &class.parameters_ref else { return Ok(Some(Arc::default())) };
    if reference.api_group == GROUP && reference.kind == "ResourceClassParameters" {
        let found = listers.class_parameters.get(&reference.namespace, &reference.name).cloned();
        return found
            .map(Some)
            .ok_or_else(|| Stop::Refused(format!("class parameters {} not found", full(&reference.namespace, &reference.name))));
    }
    let same = |from: &ParametersReference| from == reference;
    let all = listers.class_parameters.iter().filter(|parameters| parameters.generated_from.as_ref().is_some_and(same));
    let what = || format!("generated class parameters for {}.{} {} not found", reference.kind, reference.api_group, reference.name);
    the_one(all, what)
}

fn of_claim(
    class: &ResourceClass,
    claim: &DriverClaim,
    namespace: &str,
    listers: &Listers,
) -> Result<Option<(Arc<ResourceClaimParameters>, String)>, Stop> {
    let Some(reference) = &claim.spec.parameters_ref else {
        let any = ResourceRequest { named_resources: Some(NamedResourcesSelector { selector: "true".to_owned() }) };
        let requests = DriverRequests { driver_name: class.driver_name.clone(), requests: vec![any] };
        let default = ResourceClaimParameters { driver_requests: vec![requests], ..ResourceClaimParameters::default() };
        return Ok(Some((Arc::new(default), String::new())));
    };
    let name = full(namespace, &reference.name);
    if reference.api_group == GROUP && reference.kind == "ResourceClaimParameters" {
        let found = listers.claim_parameters.get(namespace, &reference.name).cloned();
        return found.map(|found| Some((found, name.clone()))).ok_or_else(|| Stop::Refused(format!("claim parameters {name} not found")));
    }
    let same =
        |from: &ParametersReference| (&from.api_group, &from.kind, &from.name) == (&reference.api_group, &reference.kind, &reference.name);
    let own = listers.claim_parameters.in_namespace(namespace);
    let mut own = own.filter(|(_, parameters)| parameters.generated_from.as_ref().is_some_and(same)).peekable();
    let known_as = own.peek().map(|(name, _)| full(namespace, name)).unwrap_or_default();
    let what = || format!("generated claim parameters for {}.{} {name} not found", reference.kind, reference.api_group);
    Ok(the_one(own.map(|(_, parameters)| parameters), what)?.map(|found| (found, known_as)))
}

/// Returns the only element; `None`: there are several.
fn the_one<'a, T: 'a>(all: impl Iterator<Item = &'a Arc<T>>, missing: impl Fn() -> String) -> Result<Option<Arc<T>>, Stop> {
    let all: Vec<&Arc<T>> = all.collect();
    match all.as_slice() {
        [] => Err(Stop::Refused(missing())),
        [one] => Ok(Some((*one).clone())),
        _ => Ok(None),
    }
}

fn full(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
