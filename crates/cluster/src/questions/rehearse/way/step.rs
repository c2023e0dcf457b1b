//! The steps of a restore.

use super::distribution::Distribution;

/// How the restore is done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Whose etcd it is.
    pub distribution: Distribution,
    /// What shows that; empty where nothing does.
    pub evidence: String,
    /// By how much the commands raise revisions, so that no watcher sees them go back; `None` where no newer revision was seen, or the distribution's own
    /// restore raises none.
    pub bump: Option<i64>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What to do, in one sentence.
    pub says: String,
    /// Where: `on etcd-1`, `on each control-plane node`; empty for anywhere.
    pub place: String,
    /// The commands, one line each.
    pub commands: Vec<String>,
}

impl Step {
    pub(super) fn new(place: impl Into<String>, says: impl Into<String>, commands: impl IntoIterator<Item = String>) -> Self {
        Self { says: says.into(), place: place.into(), commands: commands.into_iter().collect() }
    }
}
