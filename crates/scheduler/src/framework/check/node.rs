//! What filters check on the node itself: its name, cordon, taints, conditions, features and host ports.

use std::sync::Arc;

use crate::cluster::{HostPort, PodKey, Taint, Toleration};

/// A check on the node itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum NodeCheck {
    /// The node that the pod's `spec.nodeName` names, if it names one.
    Name(Option<Arc<str>>),
    /// Whether the node is cordoned (`spec.unschedulable`). Where it is and the fact holds, the pod tolerates it.
    Unschedulable(bool),
    /// A taint.
    Taint {
        /// The taint.
        taint: Taint,
        /// The pod's toleration that covers it.
        toleration: Option<Toleration>,
    },
    /// No taint of these effects.
    NoTaints {
        /// The effects.
        effects: &'static [&'static str],
    },
    /// A condition of the node's status.
    Condition {
        /// Its type.
        kind: Arc<str>,
        /// Its status; `None`: the node does not report it.
        status: Option<Arc<str>>,
    },
    /// A pressure that keeps off only pods of the class BestEffort, which this one is not.
    PressureOnBestEffort {
        /// The condition's type.
        kind: Arc<str>,
    },
    /// A feature the pod needs, declared or not (`status.declaredFeatures`).
    DeclaredFeature(&'static str),
    /// A host port the pod wants.
    HostPort {
        /// The port.
        port: HostPort,
        /// The pod on the node that uses it.
        user: Option<PodKey>,
    },
    /// The pod wants no host port.
    NoHostPorts,
}
