//! The scores of the nodes that fit: each plugin's, and their weighted sums.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The scores of one plugin, in the order of the feasible nodes.
#[derive(Clone, Debug)]
pub struct PluginScore {
    /// The plugin.
    pub plugin: &'static str,
    /// The weight of the normalised score.
    pub weight: i64,
    /// The raw scores.
    pub raw: Vec<i64>,
    /// The normalised scores.
    pub normalized: Vec<i64>,
    /// Positions of nodes whose score is uncertain: it depends on what etcd does not hold for certain.
    pub doubtful: Vec<usize>,
    /// Whether that is because it depends on which nodes were sampled.
    pub sampled: bool,
}

/// The scores of all plugins that ran.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Scores {
    /// The nodes scored, in the state's order.
    pub nodes: Vec<Arc<str>>,
    /// One entry per plugin that was not skipped.
    pub plugins: Vec<PluginScore>,
    /// The weighted sums.
    pub totals: Vec<i64>,
    /// The lowest and the highest sum of a node, by its position, where the sum depends on which pods were assumed; empty elsewhere.
    pub ranges: BTreeMap<usize, (i64, i64)>,
    /// Plugins whose score cannot be known, and why; the sums are without them.
    pub unknown: Vec<(&'static str, Cow<'static, str>)>,
}

impl Scores {
    /// The nodes with the highest sum.
    pub fn best(&self) -> impl Iterator<Item = &Arc<str>> {
        let top = self.totals.iter().max().copied();
        self.nodes.iter().zip(&self.totals).filter(move |(_, total)| Some(**total) == top).map(|(name, _)| name)
    }
}
