//! What was compared where a pod was refused, as deep as it was asked for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::PodInfo;
use crate::scheduler::explanation::{Depth, Evidence};
use crate::scheduler::{Cycle, Judgement, NodeJudgement, Profile, Refusal, Verdict, evidence};

use super::Replay;

impl Replay {
    /// What was compared where the pod was refused, as deep as asked for.
    pub(super) fn evidence(&self, pod: &Arc<PodInfo>, profile: &Profile, judgement: &Judgement) -> Vec<Evidence> {
        const NODES_OF_A_KIND: usize = 3;
        let cycle = Cycle { pod, state: &self.state, profile };
        let fact = |node: &NodeJudgement, at: usize| Evidence {
            node: node.name.clone(),
            plugin: judgement.filters[at],
            facts: evidence::evidence(&cycle, self.state.node_by_id(node.id), judgement.filters[at]),
        };
        let mut found: Vec<Evidence> = match &self.depth {
            Depth::Verdicts => Vec::new(),
            Depth::Refusals => {
                let mut seen: HashMap<(usize, &Refusal), usize> = HashMap::new();
                let refused = judgement.nodes.iter().filter(|node| !node.absent).filter_map(|node| Some((node, node.first_refusal()?)));
                let first = refused.filter(|(_, kind)| {
                    let count = seen.entry(*kind).or_default();
                    *count += 1;
                    *count <= NODES_OF_A_KIND
                });
                first.map(|(node, (at, _))| fact(node, at)).collect()
            }
            Depth::Node(name) => {
                let nodes = judgement.nodes.iter().filter(|node| *node.name == **name);
                nodes
                    .flat_map(|node| {
                        (0..node.verdicts.len())
                            .filter(|at| match node.verdicts[*at] {
                                Verdict::Reject(_) => true,
                                // What was counted says how far the node is from being too full.
                                Verdict::Pass => ["PodTopologySpread", "EvenPodsSpread", "NodeVolumeLimits", "MaxCSIVolumeCountPred"]
                                    .contains(&judgement.filters[*at]),
                                _ => false,
                            })
                            .map(|at| fact(node, at))
                            .chain([Evidence {
                                node: node.name.clone(),
                                plugin: "",
                                facts: evidence::room(&cycle, self.state.node_by_id(node.id)),
                            }])
                            .collect::<Vec<_>>()
                    })
                    .collect()
            }
        };
        found.retain(|evidence| !evidence.facts.is_empty());
        found
    }
}
