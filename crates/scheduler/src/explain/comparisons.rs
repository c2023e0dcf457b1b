//! What filters compared, at the depth requested.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::PodInfo;
use crate::explanation::{Depth, Evidence};
use crate::{Cycle, Judgement, NodeJudgement, Profile, Refusal, Verdict, evidence};

use crate::replay::Replay;

/// The most nodes that are compared for each kind of rejection.
const NODES_OF_A_KIND: usize = 24;

impl Replay {
    /// Returns what was compared: where the pod was rejected, or by every filter on one node.
    pub(super) fn evidence(&self, pod: &Arc<PodInfo>, profile: &Profile, judgement: &Judgement) -> Vec<Evidence> {
        let cycle = Cycle { pod, state: &self.state, profile, scope: None };
        let of = |node: &NodeJudgement, at: usize| Evidence {
            node: node.name.clone(),
            plugin: judgement.filters[at],
            facts: evidence::compared(&cycle, self.state.node_by_id(node.id), at, &node.verdicts[at]),
        };
        let mut found: Vec<Evidence> = match &self.depth {
            Depth::Verdicts => Vec::new(),
            Depth::Refusals => nearest(judgement).into_iter().map(|(node, at)| of(node, at)).collect(),
            Depth::Node(name) => {
                let node = judgement.nodes.iter().filter(|node| *node.name == **name);
                let ran = |verdict: &Verdict| !matches!(verdict, Verdict::Skip);
                node.flat_map(|node| (0..node.verdicts.len()).filter(|at| ran(&node.verdicts[*at])).map(|at| of(node, at))).collect()
            }
        };
        found.retain(|evidence| !evidence.facts.is_empty());
        found
    }
}

/// For each kind of rejection, the nodes nearest to fitting: those that the fewest filters reject, for the fewest reasons.
fn nearest(judgement: &Judgement) -> Vec<(&NodeJudgement, usize)> {
    let mut kinds: HashMap<(usize, &Refusal), Vec<&NodeJudgement>> = HashMap::new();
    // Where the pod is rejected as a whole, the evidence is the same on every node.
    let whole = judgement.whole_pod.is_some();
    for node in judgement.nodes.iter().filter(|node| whole || !node.absent) {
        if let Some(kind) = node.first_refusal() {
            kinds.entry(kind).or_default().push(node);
        }
    }
    let mut found = Vec::new();
    for ((at, _), mut nodes) in kinds {
        nodes.sort_by_key(|node| (node.distance(), node.name.clone()));
        found.extend(nodes.into_iter().take(NODES_OF_A_KIND).map(|node| (node, at)));
    }
    found
}
