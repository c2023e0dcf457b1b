//! The claims of a pod: those it names, those made for it, and the one the scheduler makes for extended resources.
//! Upstream: `resourceclaim/resourceclaim.go`, `plugins/dynamicresources/{dynamicresources,extendeddynamicresources}.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::{ClusterState, Node, PodInfo};
use crate::kube::api::resource::v1::{DeviceClaim, DeviceRequest, ExactDeviceRequest, ResourceClaim, ResourceClaimSpec};
use crate::kube::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use crate::scheduler::Cycle;
use crate::scheduler::volumes::is_controlled_by;

/// The pod's claims, in order, or why it cannot be scheduled (`foreachPodResourceClaim`).
pub fn pod_claims(pod: &PodInfo, state: &ClusterState) -> Result<Vec<Arc<ResourceClaim>>, String> {
    let mut claims = Vec::new();
    for (entry, claim, template) in &pod.spec.resource_claims {
        let (name, made) = match (claim, template) {
            (Some(name), _) => (Some(name.clone()), false),
            (None, Some(_)) => match pod.claim_statuses.iter().find(|status| status.name == *entry) {
                Some(status) => (status.claim.clone(), true),
                None => return Err(format!("pod \"{}\": ResourceClaim not created yet", pod.full_name())),
            },
            (None, None) => {
                return Err(format!("pod \"{}\", spec.resourceClaim \"{entry}\": none of the supported fields are set", pod.full_name()));
            }
        };
        let Some(name) = name else { continue };
        let Some(claim) = state.listers().resource_claims.get(&pod.namespace, &name) else {
            return Err(format!("resourceclaim.resource.k8s.io \"{name}\" not found"));
        };
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("resourceclaim \"{name}\" is being deleted"));
        }
        if made && !is_controlled_by(&claim.metadata, pod) {
            let (namespace, pod) = (&pod.namespace, &pod.name);
            return Err(format!("ResourceClaim {namespace}/{name} was not created for pod {namespace}/{pod} (pod is not owner)"));
        }
        claims.push(claim.clone());
    }
    Ok(claims)
}

/// Extended resources of a pod that device classes stand for.
pub struct ExtendedResources {
    classes: BTreeMap<String, String>,
    requested: Vec<(Arc<str>, i64)>,
    per_container: Vec<Vec<(Arc<str>, Option<i64>)>>,
    /// The claim an earlier attempt left behind.
    pub left_behind: Option<Arc<ResourceClaim>>,
    older: bool,
}

/// What a node asks of the scheduler's own claim.
pub enum NodeClaim {
    /// Nothing: devices plugins serve all.
    Nothing,
    /// A claim for what the node has no device plugin for.
    Claim(Box<ResourceClaim>),
    /// The node has neither.
    Refused(&'static str),
}

impl ExtendedResources {
    /// The pod's, if it wants any (`preFilterExtendedResources`).
    pub fn of(cycle: &Cycle<'_>) -> Option<Self> {
        if !cycle.profile.rules.dra_extended_resources {
            return None;
        }
        let pod = cycle.pod;
        let classes: BTreeMap<String, String> = cycle
            .state
            .listers()
            .device_classes
            .iter()
            .map(|class| {
                let name = class.metadata.name.clone().unwrap_or_default();
                let resource = class.spec.extended_resource_name.clone();
                (resource.unwrap_or_else(|| format!("deviceclass.resource.kubernetes.io/{name}")), name)
            })
            .collect();
        let requests = cycle.state.rules().incoming(pod);
        let requested: Vec<_> = requests.scalars.iter().filter(|(name, amount)| is_dra_name(name) && *amount != 0).cloned().collect();
        if !requested.iter().any(|(name, _)| classes.contains_key(&**name)) {
            return None;
        }
        let own = |claim: &&Arc<ResourceClaim>| {
            let marked = claim.metadata.annotations.as_ref().and_then(|all| all.get("resource.kubernetes.io/extended-resource-claim"));
            marked.is_some_and(|marked| marked == "true") && is_controlled_by(&claim.metadata, pod)
        };
        let left_behind = cycle.state.listers().resource_claims.iter().find(own).cloned();
        let per_container = pod
            .spec
            .requests
            .init_containers
            .iter()
            .chain(&pod.spec.requests.containers)
            .map(|container| container.requests.iter().map(|(name, amount)| (name.clone(), amount.units())).collect());
        Some(Self { classes, requested, per_container: per_container.collect(), left_behind, older: cycle.profile.release.0 <= 34 })
    }

    /// What the node leaves to devices (`filterExtendedResources`).
    pub fn on(&self, node: &Node, has_claims: bool, namespace: &str) -> NodeClaim {
        if self.left_behind.as_ref().is_some_and(|claim| claim.spec.devices.as_ref().is_some_and(|devices| devices.requests.is_some())) {
            return NodeClaim::Refused("cannot schedule extended resource claim");
        }
        let mut wanted = Vec::new();
        let mut by_devices = false;
        for (name, _) in &self.requested {
            let offered = node.allocatable.scalars.iter().find(|(scalar, _)| scalar == name).map(|(_, amount)| *amount);
            let known = self.classes.contains_key(&**name);
            // Up to 1.34 a node that lists the resource serves it, even none of it.
            let by_plugin = if self.older { offered.is_some() } else { offered.is_some_and(|amount| amount > 0) };
            if known {
                wanted.push(name);
                by_devices |= !by_plugin;
            } else if offered.is_none() {
                return NodeClaim::Refused("cannot fit resource");
            }
        }
        if !has_claims && !by_devices {
            return NodeClaim::Nothing;
        }
        NodeClaim::Claim(Box::new(self.claim(&wanted, namespace)))
    }

    /// `createDeviceRequests`: one request per container and resource.
    fn claim(&self, wanted: &[&Arc<str>], namespace: &str) -> ResourceClaim {
        let mut requests = Vec::new();
        for (container, amounts) in self.per_container.iter().enumerate() {
            for (at, (name, count)) in amounts.iter().enumerate() {
                let Some(count) = count.filter(|count| *count != 0 && wanted.contains(&name)) else { continue };
                let Some(class) = self.classes.get(&**name) else { continue };
                let exactly = ExactDeviceRequest {
                    device_class_name: class.clone(),
                    allocation_mode: Some("ExactCount".to_owned()),
                    count: Some(count),
                    ..ExactDeviceRequest::default()
                };
                requests.push(DeviceRequest {
                    name: format!("container-{container}-request-{at}"),
                    exactly: Some(exactly),
                    ..DeviceRequest::default()
                });
            }
        }
        requests.sort_by(|one, other| one.name.cmp(&other.name));
        let metadata =
            ObjectMeta { name: Some("<extended-resources>".to_owned()), namespace: Some(namespace.to_owned()), ..ObjectMeta::default() };
        let spec = ResourceClaimSpec { devices: Some(DeviceClaim { requests: Some(requests), ..DeviceClaim::default() }) };
        ResourceClaim { metadata, spec, status: None }
    }
}

/// `IsDRAExtendedResourceName`: an extended resource, or one named after a device class.
fn is_dra_name(name: &str) -> bool {
    name.starts_with("deviceclass.resource.kubernetes.io/") || crate::cluster::is_extended(name)
}
