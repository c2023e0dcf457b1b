//! Nodes: their fields, their compiled form with the pods on them, and their images.

pub(super) mod fields;
pub(super) mod images;
pub(super) mod info;

/// A node's number within one `ClusterState`, stable while the state lives.
pub(crate) type NodeId = u32;
