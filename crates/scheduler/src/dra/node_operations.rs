//! Devices for which the node skips operations. Upstream: `allocationResultRequiresDRAOptionalNodeOperations` (1.37).

use crate::cluster::{Claim, Node};

use super::results;

/// Whether a node declares that it can skip operations that a device does not need.
pub(crate) fn can_skip_operations(node: &Node) -> bool {
    node.declared_features.iter().any(|feature| &**feature == "DRAOptionalNodeOperations")
}

/// Whether any device of a claim requires a node that can.
pub(crate) fn skips_operations(claim: &Claim) -> bool {
    results(claim).iter().any(|result| result.skip_node_operations.as_ref().is_some_and(|operations| !operations.is_empty()))
}
