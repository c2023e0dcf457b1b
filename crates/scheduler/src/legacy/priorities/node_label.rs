//! NodeLabel: points for nodes that have a label, or have it not; only a Policy enables it.
//! Source: `algorithm/priorities/node_label.go` (1.9–1.17), `framework/plugins/nodelabel` (1.17–1.22).

use std::sync::Arc;

use crate::{Cycle, Feasible, Plugin, PreScore};

/// The priority for the labels of a Policy's arguments, each with whether it should be there. Up to 1.16 a priority has one label;
/// 1.17 made one plugin of them all, whose score is their mean.
pub(crate) struct NodeLabel {
    /// The labels.
    pub labels: Vec<(Arc<str>, bool)>,
}

impl Plugin for NodeLabel {
    fn name(&self) -> &'static str {
        "NodeLabel"
    }

    fn doc(&self) -> &'static str {
        "Points for nodes that have a label, or have it not.

Checks
  The end of the scale where the node has the label (or lacks it, with presence: false), else 0; the mean over several labels.
Reads
  node labels; the Policy's argument labelPreference: label, presence
History
  1.9–1.16 one priority per label, named by the Policy; 1.17–1.22 one plugin for all; removed with the Policy in 1.23
Differs from upstream
  nowhere"
    }

    fn looks_at_pods(&self) -> bool {
        false
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let max = cycle.profile.rules.max_score;
        let labels = self.labels.clone();
        PreScore::plain(move |node| {
            let preferred = labels.iter().filter(|(label, presence)| node.labels.has(label) == *presence).count();
            preferred as i64 * max / (labels.len() as i64).max(1)
        })
    }
}
