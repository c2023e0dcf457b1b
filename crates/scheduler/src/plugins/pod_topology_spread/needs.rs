//! What would satisfy each skewed constraint: more allowed skew, a softer constraint, one that leaves tainted nodes out, or one pod less on the node.

use crate::cluster::{NodeInfo, WhenUnsatisfiable};
use crate::framework::{Fix, Need, Obstacle};
use crate::{Candidate, Cycle};

use super::super::taint_toleration::untolerated;
use super::filter::comparisons;

/// Each constraint that does not hold: more skew, a softer constraint, or a pod of the node's less.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let own = &cycle.pod.spec.spread;
    let hard: Vec<usize> = (0..own.len()).filter(|at| own[*at].when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule).collect();
    let mut needs = Vec::new();
    for (number, compared) in comparisons(cycle, node).into_iter().enumerate() {
        let skewed = match &compared {
            Ok(compared) if !compared.is_skewed() => continue,
            Ok(_) => true,
            Err(_) => false,
        };
        let place = hard.get(number).copied();
        let mut options: Vec<Fix> =
            place.map(|at| Fix::SoftenSpread { constraint: at, topology_key: own[at].topology_key.clone() }).into_iter().collect();
        if skewed {
            options.extend(place.map(|at| Fix::RaiseMaxSkew { constraint: at, topology_key: own[at].topology_key.clone(), max_skew: 0 }));
            options.extend(
                place
                    .filter(|at| may_honor(cycle, *at))
                    .map(|at| Fix::HonorTaints { constraint: at, topology_key: own[at].topology_key.clone() }),
            );
            options.extend(Fix::deletions(node.pods.iter().filter(|pod| pod.namespace == cycle.pod.namespace)));
        }
        needs.push(Need::one_of_or(options, Obstacle::DefaultConstraints));
    }
    needs
}

/// Whether a constraint counts nodes for their labels that the pod cannot have for their taints, and could leave them out.
fn may_honor(cycle: &Cycle<'_>, place: usize) -> bool {
    let (spec, rules) = (&cycle.pod.spec, &cycle.profile.rules);
    let is_barred = |node: &NodeInfo| untolerated(&node.taints, &spec.tolerations, rules.taint_comparisons).is_some();
    rules.spread_policies && !spec.spread[place].honors_taints && cycle.state.nodes().any(is_barred)
}
