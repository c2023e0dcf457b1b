//! Extended resources backed by device classes: the claim that the scheduler creates for them.
//! Upstream: `plugins/dynamicresources/extendeddynamicresources.go`, `extended/util.go` (1.34), `extendedresourcecache.go` (since 1.35).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Cycle;
use crate::api::meta::ObjectMeta;
use crate::api::resource::{DeviceClaim, DeviceClass, DeviceRequest, ExactDeviceRequest, ResourceClaimSpec};
use crate::cluster::{Claim, ContainerRequests, Node};
use crate::release::Rules;
use crate::volumes::is_controlled_by;

const EXTENDED_RESOURCE_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// A pod's extended resources that are backed by device classes.
pub(crate) struct ExtendedResources<'a> {
    classes: BTreeMap<String, String>,
    requested: Vec<Arc<str>>,
    inits: &'a [ContainerRequests],
    containers: &'a [ContainerRequests],
    /// The claim an earlier attempt left behind.
    pub left_behind: Option<Arc<Claim>>,
    /// A resource that several classes name: which one serves it is random.
    pub ambiguous: Option<Arc<str>>,
    rules: &'a Rules,
}

pub(crate) enum NodeClaim {
    /// No claim, and the pod has no others: device plugins serve all.
    Nothing,
    /// The claim of an earlier attempt.
    LeftBehind,
    /// A new claim for what the node has no device plugin for.
    Claim(Box<Claim>),
    Refused(&'static str),
}

impl<'a> ExtendedResources<'a> {
    /// Returns the pod's, if it requests any (`preFilterExtendedResources`).
    pub(crate) fn of(cycle: &Cycle<'a>) -> Option<Self> {
        let (pod, rules) = (cycle.pod, &cycle.profile.rules);
        if !rules.dra_extended_resources {
            return None;
        }
        let classes = resources_of_classes(cycle.state.listers().device_classes.iter().map(|class| &**class), rules);
        let requests = cycle.state.rules().incoming(pod);
        let scalars = requests.scalars.iter().filter(|(name, amount)| is_dra_name(name, rules) && *amount != 0);
        let requested: Vec<_> = scalars.map(|(name, _)| name.clone()).collect();
        if !requested.iter().any(|name| classes.contains_key(&**name)) {
            return None;
        }
        let own = |claim: &&Arc<Claim>| {
            let marked = claim.metadata.annotations.as_ref().and_then(|all| all.get("resource.kubernetes.io/extended-resource-claim"));
            marked.is_some_and(|marked| marked == "true") && is_controlled_by(&claim.metadata, pod)
        };
        let left_behind = cycle.state.listers().resource_claims.iter().find(own).cloned();
        let named = |name: &str| {
            cycle.state.listers().device_classes.iter().filter(|class| class.spec.extended_resource_name.as_deref() == Some(name)).count()
        };
        let ambiguous = requested.iter().find(|name| rules.extended_resource_class_is_random() && named(name) > 1).cloned();
        let of = &pod.spec.requests;
        Some(Self { classes, requested, inits: &of.init_containers, containers: &of.containers, left_behind, ambiguous, rules })
    }

    /// Returns what the node leaves to devices (`filterExtendedResources`).
    pub(crate) fn on(&self, node: &Node, has_claims: bool, namespace: &str) -> NodeClaim {
        let left_behind = self.left_behind.as_ref();
        if left_behind.is_some_and(|claim| claim.spec.devices.as_ref().is_some_and(|devices| devices.requests.is_some())) {
            return NodeClaim::Refused("cannot schedule extended resource claim");
        }
        let mut wanted = Vec::new();
        let mut by_devices = false;
        for name in &self.requested {
            let offered = node.allocatable.scalars.iter().find(|(scalar, _)| scalar == name).map(|(_, amount)| *amount);
            let known = self.classes.contains_key(&**name);
            if self.rules.listed_extended_resources_suffice() && known {
                by_devices |= offered.is_none();
                wanted.push(name);
            } else if known && offered.unwrap_or_default() == 0 {
                by_devices = true;
                wanted.push(name);
            } else if offered.is_none() {
                return NodeClaim::Refused("cannot fit resource");
            }
        }
        if !has_claims && !by_devices {
            return NodeClaim::Nothing;
        }
        if left_behind.is_some_and(|claim| claim.status.as_ref().is_some_and(|status| status.allocation.is_some())) {
            return NodeClaim::LeftBehind;
        }
        NodeClaim::Claim(Box::new(self.claim(&wanted, namespace)))
    }

    fn claim(&self, wanted: &[&Arc<str>], namespace: &str) -> Claim {
        let mut requests = Vec::new();
        for name in wanted {
            let Some(class) = self.classes.get(&***name) else { continue };
            let all = self.inits.iter().chain(self.containers).enumerate();
            let asks = |(at, container): (usize, &ContainerRequests)| Some((at, asked(container, name)?));
            if self.rules.extended_resource_request_for_each_container() {
                requests.extend(all.filter_map(asks).map(|(at, (place, count))| request(at, place, class, count)));
                continue;
            }
            let ends = |at: usize, container: &ContainerRequests| at < self.inits.len() && !container.restartable;
            let (short, long): (Vec<_>, Vec<_>) = all.partition(|(at, container)| ends(*at, container));
            let long: Vec<_> = long.into_iter().filter_map(asks).collect();
            let mut largest: Option<(usize, usize, i64)> = None;
            for (at, (place, count)) in short.into_iter().filter_map(asks) {
                let later: i64 = long.iter().filter(|(other, _)| *other >= at).map(|(_, (_, count))| count).sum();
                if count > later && largest.is_none_or(|(.., most)| most < count - later) {
                    largest = Some((at, place, count - later));
                }
            }
            requests.extend(largest.map(|(at, place, count)| request(at, place, class, count)));
            requests.extend(long.into_iter().map(|(at, (place, count))| request(at, place, class, count)));
        }
        requests.sort_by(|one, other| one.name.cmp(&other.name));
        let metadata =
            ObjectMeta { name: Some("<extended-resources>".to_owned()), namespace: Some(namespace.to_owned()), ..ObjectMeta::default() };
        let devices = Some(DeviceClaim { requests: Some(requests), ..DeviceClaim::default() });
        let spec = ResourceClaimSpec { devices, ..ResourceClaimSpec::default() };
        Claim { metadata, spec, ..Claim::default() }
    }
}

/// Returns the class behind each resource: that of its own name, and the one it names. If several name one, the newest counts, then the first by
/// name.
pub(crate) fn resources_of_classes<'c>(all: impl Iterator<Item = &'c DeviceClass>, rules: &Rules) -> BTreeMap<String, String> {
    let name = |class: &DeviceClass| class.metadata.name.clone().unwrap_or_default();
    let mut all: Vec<&DeviceClass> = all.collect();
    all.sort_by_key(|class| name(class));
    all.sort_by_key(|class| std::cmp::Reverse(class.metadata.creation_timestamp.as_ref().map(|time| time.0)));
    let mut classes = BTreeMap::new();
    for class in all {
        let resource = class.spec.extended_resource_name.clone();
        // A class that loses the resource it names gets no implicit resource either.
        let late = resource.as_ref().is_some_and(|resource| classes.contains_key(resource));
        if late {
            continue;
        }
        if resource.is_none() || rules.every_class_has_implicit_resource() {
            classes.insert(format!("{EXTENDED_RESOURCE_PREFIX}{}", name(class)), name(class));
        }
        classes.extend(resource.map(|resource| (resource, name(class))));
    }
    classes
}

/// How much of a resource a container requests, and the position of the resource among all its requests.
fn asked(container: &ContainerRequests, resource: &str) -> Option<(usize, i64)> {
    let (place, (_, amount)) = container.requests.iter().enumerate().find(|(_, (name, _))| **name == *resource)?;
    Some((place, amount.units().filter(|count| *count != 0)?))
}

fn request(container: usize, place: usize, class: &str, count: i64) -> DeviceRequest {
    let exactly = ExactDeviceRequest {
        device_class_name: class.to_owned(),
        allocation_mode: Some("ExactCount".to_owned()),
        count: Some(count),
        ..ExactDeviceRequest::default()
    };
    DeviceRequest { name: format!("container-{container}-request-{place}"), exactly: Some(exactly), ..DeviceRequest::default() }
}

/// An extended resource, or one named after a device class.
fn is_dra_name(name: &str, rules: &Rules) -> bool {
    (rules.every_class_has_implicit_resource() && name.starts_with(EXTENDED_RESOURCE_PREFIX)) || crate::cluster::is_extended(name)
}
