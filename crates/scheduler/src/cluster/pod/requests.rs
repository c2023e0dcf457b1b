//! A pod's requests: its parts are stored, the sum is computed on demand by the rules of each release.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use super::request_rules::RequestRules;
use crate::cluster::Resources;
use crate::cluster::resource::list::ResourceList;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ContainerRequests {
    pub(crate) name: Arc<str>,
    /// For an init container: whether it is a sidecar (`restartPolicy: Always`).
    pub(crate) restartable: bool,
    /// `resources.requests`.
    pub(crate) requests: ResourceList,
    /// `resources.limits`.
    pub(crate) limits: ResourceList,
    /// The pod's device claims that it names, in order (`resources.claims[].name`).
    pub(crate) claims: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PodRequests {
    /// Regular containers, in order.
    pub(crate) containers: Vec<ContainerRequests>,
    /// Init containers, in order.
    pub(crate) init_containers: Vec<ContainerRequests>,
    /// `spec.overhead`.
    pub(crate) overhead: ResourceList,
    /// `spec.resources.requests`, if `spec.resources` has any.
    pub(crate) pod_level: ResourceList,
    /// `spec.resources.limits`, if `spec.resources` has any.
    pub(crate) pod_level_limits: ResourceList,
    /// What a pod of this template requests of its node, once it was computed.
    pub(in crate::cluster) resource: Memo,
}

/// What a pod on a node requests there. Upstream: `podResource` (`framework/types.go`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodResource {
    pub(crate) requests: Resources,
    /// CPU with the defaults for scores, in thousandths.
    pub(crate) non_zero_cpu: i64,
    /// Memory with the defaults for scores, in bytes.
    pub(crate) non_zero_memory: i64,
}

/// A cached sum, with the rules it was computed by. It is not part of the value: a copy, which may be changed, begins without it.
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

/// The kubelet's allocation for a container, stored only where it differs from the container's request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContainerAllocation {
    /// The container's name; empty for the pod itself.
    pub(crate) container: Arc<str>,
    /// `allocatedResources`.
    pub(crate) allocated: ResourceList,
    /// `resources.requests`, if the status has `resources`.
    pub(crate) actual: Option<ResourceList>,
}
