//! What filters check on a node's resources: the number of pods, what the pod requests, what is left.

use std::sync::Arc;

use crate::cluster::PodKey;

/// A check on the node's resources. Amounts are in the scheduler's unit (millicores of cpu).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ResourceCheck {
    /// The number of pods.
    Pods {
        /// The pods on the node.
        count: usize,
        /// How many it may have (`status.allocatable.pods`).
        allowed: i64,
    },
    /// The pod has a sidecar, and the scheduler refuses such pods: its gate SidecarContainers is off.
    Sidecar,
    /// A resource the pod requests, which the scheduler does not compare on this node.
    Ignored {
        /// The resource.
        resource: Arc<str>,
        /// What the pod requests.
        requested: i64,
    },
    /// A resource the pod requests and the node does not offer.
    Absent {
        /// The resource.
        resource: Arc<str>,
        /// What the pod requests.
        requested: i64,
    },
    /// A resource the pod requests.
    Requested {
        /// The resource.
        resource: Arc<str>,
        /// What the pod requests.
        requested: i64,
        /// What the pods on the node request.
        used: i64,
        /// What the node offers (`status.allocatable`).
        allocatable: i64,
        /// The pods that request it, each with how much, the largest first.
        pods: Vec<(PodKey, i64)>,
    },
    /// A resource that the devices of the pod's claims take too.
    WithDevices {
        /// The resource.
        resource: Arc<str>,
        /// What the pod and its devices request.
        requested: i64,
        /// What the pods on the node request.
        used: i64,
        /// What the node offers (`status.allocatable`).
        allocatable: i64,
    },
}
