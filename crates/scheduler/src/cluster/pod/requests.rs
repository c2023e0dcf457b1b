//! What a pod asks for: the ingredients are kept, the sum is made on demand, by the rule of each release.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use super::request_rules::RequestRules;
use crate::cluster::Resources;
use crate::cluster::resource::list::ResourceList;

/// One container's part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContainerRequests {
    /// The container's name.
    pub name: Arc<str>,
    /// For an init container: whether it is a sidecar (`restartPolicy: Always`).
    pub restartable: bool,
    /// `resources.requests`.
    pub requests: ResourceList,
    /// `resources.limits`.
    pub limits: ResourceList,
    /// The pod's claims of devices that it names, in order (`resources.claims[].name`).
    pub claims: Vec<Arc<str>>,
}

/// The ingredients of a pod's request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodRequests {
    /// Regular containers, in order.
    pub containers: Vec<ContainerRequests>,
    /// Init containers, in order.
    pub init_containers: Vec<ContainerRequests>,
    /// `spec.overhead`.
    pub overhead: ResourceList,
    /// `spec.resources.requests`, where `spec.resources` has any.
    pub pod_level: ResourceList,
    /// `spec.resources.limits`, likewise.
    pub pod_level_limits: ResourceList,
    /// What a pod of this template takes of its node, once it was computed.
    pub(in crate::cluster) resource: Memo,
}

/// What a pod on a node takes there. Upstream: `podResource` (`framework/types.go`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodResource {
    /// For the filters.
    pub requests: Resources,
    /// CPU with the defaults of scores, in thousandths.
    pub non_zero_cpu: i64,
    /// Memory with the defaults of scores, in bytes.
    pub non_zero_memory: i64,
}

/// A sum kept with the rules it was made by. It is no part of what it was made from: a copy, which may be changed, begins without it.
#[derive(Debug, Default)]
pub(in crate::cluster) struct Memo(pub(in crate::cluster) OnceLock<(RequestRules, PodResource)>);

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Memo {}

impl Hash for Memo {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What the kubelet has allocated to a container, kept only where it differs from the container's request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The container's name; empty for the pod itself.
    pub container: Arc<str>,
    /// `allocatedResources`.
    pub allocated: ResourceList,
    /// `resources.requests`, if the status has `resources`.
    pub actual: Option<ResourceList>,
}
