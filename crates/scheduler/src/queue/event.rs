//! Events that may let a refused pod fit. Source: `framework/types.go` ClusterEvent, `eventhandlers.go` (1.37).

use std::sync::Arc;

use crate::cluster::{Node, PodInfo, WatchedKind};

/// What happened in the cluster.
#[derive(Clone, Debug)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ClusterEvent<'e> {
    /// A pod is there and has no node yet (`UnscheduledPodAdd`).
    PodWaits(&'e PodInfo),
    /// A pod is on a node (`AssignedPodAdd`).
    PodAdded(&'e PodInfo),
    /// A pod on a node was changed (`AssignedPodUpdate`): before and after.
    PodUpdated(&'e PodInfo, &'e PodInfo),
    /// A pod that was on a node is gone or has ended (`AssignedPodDelete`).
    PodDeleted(&'e PodInfo),
    /// A node is there.
    NodeAdded(&'e Arc<Node>),
    /// A node was changed: before and after.
    NodeUpdated(&'e Arc<Node>, &'e Arc<Node>),
    /// A node is gone.
    NodeDeleted(&'e Arc<Node>),
    /// An object of another kind was written or deleted.
    Other(WatchedKind),
}
