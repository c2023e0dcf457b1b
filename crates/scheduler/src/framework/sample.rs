//! How many nodes a scheduler looked at before it was content.

/// How many nodes there were to look at, how many fit, and after how many of those the scheduler is content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The nodes of the cluster, or those that PreFilter names.
    pub of: usize,
    /// How many of them fit.
    pub fit: usize,
    /// After how many that fit it stops.
    pub enough: usize,
}

impl Sample {
    /// How many of those that fit it does not come to.
    pub fn unseen(&self) -> usize {
        self.fit.saturating_sub(self.enough)
    }
}
