//! Where a scheduler is in its list of nodes.

/// The list, and where the next attempt begins.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeWalk {
    /// The nodes, zones taking turns.
    pub order: Vec<String>,
    /// Where the next attempt begins (`nextStartNodeIndex`).
    pub start: usize,
    /// Whether nodes came or went since it was made.
    pub is_stale: bool,
}
