//! Pods that have a node and wait there for the others of their gang.

use std::sync::Arc;

use ketcd_scheduler::Reservation;

/// A pod that waits on its node (Permit).
#[derive(Clone)]
pub(super) struct Held {
    /// Its gang, as NAMESPACE/NAME.
    pub gang: String,
    /// The node.
    pub node: Arc<str>,
    /// What it takes there.
    pub taken: Reservation,
    /// When it stops to wait, in milliseconds since 1970.
    pub until: i64,
}
