//! How many nodes the scheduler evaluated before it stopped (`percentageOfNodesToScore`).

/// How many nodes there were, how many fit, and after how many feasible nodes the scheduler stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The nodes of the cluster, or those of the PreFilterResult.
    pub of: usize,
    /// How many of them fit.
    pub fit: usize,
    /// After how many feasible nodes it stops.
    pub enough: usize,
}

impl Sample {
    /// How many feasible nodes it does not evaluate.
    pub fn unseen(&self) -> usize {
        self.fit.saturating_sub(self.enough)
    }
}
