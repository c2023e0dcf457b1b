//! How many nodes could be drained at most, by their room alone: what has to run somewhere must fit the nodes that are left.

use std::collections::BTreeMap;

use ketcd_scheduler::cluster::NodeInfo;

use super::controllers::node_lifecycle;
use super::json::{controller, text};
use super::model::Id;
use super::world::World;

/// Kinds whose pods are made again wherever there is room. A Job may fail instead, and a DaemonSet's pods stay.
const REMADE: [&str; 3] = ["ReplicaSet", "ReplicationController", "StatefulSet"];

/// CPU, memory and a number of pods.
type Amounts = [i64; 3];

/// The room of each node, and what has to run.
pub(super) struct Room {
    /// What each node can carry of what has to run: the rest of its pods aside, and at least what it carries.
    nodes: BTreeMap<String, Amounts>,
    /// What has to run, on all nodes.
    wanted: Amounts,
}

impl Room {
    /// The room of a cluster's nodes.
    pub(super) fn of(world: &mut World<'_>) -> Self {
        let (mut nodes, mut wanted): (BTreeMap<String, Amounts>, Amounts) = (BTreeMap::new(), [0; 3]);
        for name in world.nodes() {
            let pods = node_lifecycle::on_node(world, &name);
            let (remade, daemons): (Vec<Id>, Vec<Id>) = pods.into_iter().partition(|id| is_of(world, id, &REMADE));
            let stays: Vec<Id> = daemons.into_iter().filter(|id| is_of(world, id, &["DaemonSet"])).collect();
            let Some(node) = world.model.state.node(&name) else { continue };
            let sum = |ids: &[Id]| {
                let mut with = NodeInfo::empty(node.object().clone());
                let pods = ids.iter().filter_map(|id| world.model.pod(id));
                pods.for_each(|pod| with.add_pod(pod.clone(), world.model.state.rules()));
                [with.requests_of("cpu"), with.requests_of("memory"), i64::try_from(with.pods.len()).unwrap_or(i64::MAX)]
            };
            let (carries, stays) = (sum(&remade), sum(&stays));
            let offers = [node.offers_of("cpu"), node.offers_of("memory"), node.allowed_pods];
            let room = |at: usize| (offers[at] - stays[at]).max(carries[at]);
            nodes.insert(name, [room(0), room(1), room(2)]);
            (0..3).for_each(|at| wanted[at] = wanted[at].saturating_add(carries[at]));
        }
        Self { nodes, wanted }
    }

    /// How many nodes could be drained at most, those that were drained among them.
    pub(super) fn most(&self, drained: &[String]) -> usize {
        (0..3).map(|at| self.most_by(at, drained)).min().unwrap_or(0)
    }

    /// The same by one of the amounts: the nodes with the least room go first.
    fn most_by(&self, at: usize, drained: &[String]) -> usize {
        let mut left: Vec<i64> = self.nodes.iter().filter(|(name, _)| !drained.contains(name)).map(|(_, room)| room[at]).collect();
        left.sort_unstable();
        let mut room: i64 = left.iter().fold(0, |sum, room| sum.saturating_add(*room));
        let more = left.iter().take_while(|gone| {
            room -= **gone;
            room >= self.wanted[at]
        });
        drained.len() + more.count()
    }
}

/// Whether a pod's controller is of one of these kinds.
fn is_of(world: &mut World<'_>, id: &Id, kinds: &[&str]) -> bool {
    let Some(pod) = world.model.get(id) else { return false };
    controller(&pod).is_some_and(|owner| kinds.contains(&text(owner, "/kind")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_with_the_least_room_go_first_and_the_scarcest_amount_decides() {
        let node = |name: &str, cpu: i64, memory: i64| (name.to_owned(), [cpu, memory, 10]);
        let room = Room { nodes: [node("a", 1, 9), node("b", 2, 9), node("c", 4, 1), node("d", 4, 9)].into(), wanted: [5, 10, 3] };
        assert_eq!(room.most_by(0, &[]), 2, "c and d carry five");
        assert_eq!(room.most_by(1, &[]), 2, "a node of nine and one more");
        assert_eq!(room.most_by(2, &[]), 3);
        assert_eq!(room.most(&[]), 2);
        assert_eq!(room.most(&["d".to_owned()]), 2, "a goes, too; without b and c five do not fit");
    }
}
