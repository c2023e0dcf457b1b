//! TopologyPlacementGenerator and PodGroupPodsCount: which sets of nodes a group of pods is tried on, and what each is worth. Off by default.
//! `groups/placement.rs` runs them.

use crate::cluster::{NodeInfo, PodInfo, Resources};
use crate::framework::{Plugin, Profile, part};

use super::node_resources::offered_and_taken;

/// Upstream: `plugins/topologyaware/topology_placement.go`.
pub(super) struct TopologyPlacementGenerator;

impl Plugin for TopologyPlacementGenerator {
    fn name(&self) -> &'static str {
        "TopologyPlacementGenerator"
    }

    fn doc(&self) -> &'static str {
        "All pods of a group go to nodes that have the same value of a label.

Checks
  PlacementGenerate: each value of the group's topology key is a placement, made of the nodes that have it; the group is tried on one after
  the other. Where pods of the group have nodes already, theirs is the only one. A group without a topology constraint is tried on all nodes.
  A group of a composite group (1.37) is tried on the nodes of each of that one's placements.
Reads
  PodGroup and CompositePodGroup spec.schedulingConstraints.topology (the first entry); labels of nodes; the group's pods
History
  1.36– off by default (gates GenericWorkload and TopologyAwareWorkloadScheduling); composite groups 1.37– (gate CompositePodGroup)
Differs from upstream
  Placements are tried by name; upstream's order is drawn by chance, and where none does it reports the first it tried."
    }
}

/// Upstream: `plugins/podgrouppodscount/podgroup_pods_count.go`.
pub(super) struct PodGroupPodsCount;

impl Plugin for PodGroupPodsCount {
    fn name(&self) -> &'static str {
        "PodGroupPodsCount"
    }

    fn doc(&self) -> &'static str {
        "A placement that takes more pods of the group is better.

Checks
  PlacementScore: pods of the group that have nodes already and those that find one on the placement; the most make 100. NodeResourcesFit adds
  how full the placement's nodes would be together (always by MostAllocated). A configuration may weigh both (placementScore).
Reads
  the pods of the group, or of all groups below a composite one
History
  1.36– off by default (gates GenericWorkload and TopologyAwareWorkloadScheduling); composite groups 1.37– (gate CompositePodGroup)
Differs from upstream
  nowhere; among equals upstream draws by chance"
    }
}

/// PodGroupPodsCount's numbers on the common scale.
///
/// # Errors
/// Upstream's, where no placement has a pod.
pub(crate) fn placement_pods(counts: &[i64]) -> Result<Vec<i64>, String> {
    let most = counts.iter().copied().max().unwrap_or(0);
    if most == 0 {
        let why = "no pods from pod group are assigned to any of the candidate placements";
        return Err(format!("running NormalizePlacementScore on PlacementScore plugins: plugin \"PodGroupPodsCount\" failed with: {why}"));
    }
    Ok(counts.iter().map(|count| count * 100 / most).collect())
}

/// How full the nodes of a placement would be with the group's pods on them.
/// Upstream: `scorePlacement` (`plugins/noderesources/resource_allocation.go`) with the scorer of MostAllocated.
pub(crate) fn placement_fill<'a>(
    pods: impl Iterator<Item = &'a PodInfo>,
    nodes: impl Iterator<Item = &'a NodeInfo>,
    profile: &Profile,
) -> i64 {
    let mut wanted = Resources::default();
    pods.for_each(|pod| wanted.add(&profile.rules.requests.scored(pod, true)));
    let resources = &profile.arguments.strategy_resources;
    // Offered and taken of each resource, on all nodes that count for it.
    let mut sums: Vec<(i64, i64)> = resources.iter().map(|(name, _)| (0, wanted.get(name))).collect();
    for node in nodes {
        for ((name, _), sum) in resources.iter().zip(&mut sums) {
            if let Some((offered, taken)) = offered_and_taken(name, node, &wanted, true, true) {
                sum.0 = sum.0.wrapping_add(offered);
                sum.1 = sum.1.wrapping_add(taken).wrapping_sub(wanted.get(name));
            }
        }
    }
    let (mut score, mut weights) = (0, 0);
    for ((offered, taken), (_, weight)) in sums.into_iter().zip(resources).filter(|((offered, _), _)| *offered != 0) {
        score += part(taken.min(offered), 100, offered).wrapping_mul(*weight);
        weights += weight;
    }
    if weights == 0 { 0 } else { score / weights }
}
