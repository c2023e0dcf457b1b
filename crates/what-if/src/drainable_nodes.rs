//! Which nodes could be drained now, one after the other, without anything left pending; and why each other node cannot.
//!
//! Finding the largest set is a packing problem in which even the order counts, as budgets and the scheduler's choices depend on it. First the
//! emptiest nodes are tried, each after those that could be drained; what is decided of each is reported at once. Then other orders follow, then all, as
//! far as a bound on the work goes. What the room of the nodes allows at most (`Room`) ends the search early. The answer says whether no larger
//! set exists.

use std::collections::{BTreeMap, HashSet};

use ketcd_scheduler::cluster::NodeInfo;

use super::answer::{Happening, Spare};
use super::controllers::node_lifecycle;
use super::drain::{HeldBack, drain};
use super::follow::Follow;
use super::json::{controller, text};
use super::model::Id;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// How much the search for a larger set may cost: attempts of pods times nodes. A drain of a small cluster takes some fifty.
const MOST_WORK: usize = 5_000;

/// Finds the nodes. Each drain chooses among equals as if it were the first, so that a set that was found can be played again.
pub(super) fn spare(world: &mut SimulatedCluster<'_>, choices: &Choices, follow: &dyn Follow) -> Spare {
    let (start, names, room) = (world.mark(), by_load(world), Room::of(world));
    let most = room.most(&[]);
    let mut search = Search { choices, room: &room, best: Vec::new(), left: MOST_WORK, was_cut: false, seen: HashSet::new(), attempts: 0 };
    let others = search.first_order(world, &names, follow);
    if search.best.len() >= most {
        let Search { best: nodes, attempts, .. } = search;
        return Spare { nodes, others: sorted(others), is_largest: true, most, is_first_order: true, attempts };
    }
    let first = search.best.clone();
    world.back(start);
    for order in [by_size(world), names.iter().rev().cloned().collect()] {
        let start = world.mark();
        search.in_order(world, &order, follow);
        world.back(start);
    }
    search.explore(world, &mut Vec::new(), &names, follow);
    let Search { best, was_cut, attempts, .. } = search;
    let is_first_order = best == first;
    let is_largest = !was_cut || best.len() >= most;
    let (nodes, others) = played(world, choices, best, &names, is_first_order.then_some(others));
    let most = if is_largest { nodes.len() } else { most };
    Spare { nodes, others: sorted(others), is_largest, most, is_first_order, attempts }
}

fn sorted(mut others: Others) -> Others {
    others.sort();
    others
}

/// The nodes, the emptiest first.
fn by_load(world: &SimulatedCluster<'_>) -> Vec<String> {
    let mut names = world.nodes();
    names.sort_by_cached_key(|name| {
        let node = world.model.state.node(name);
        let share = |resource: &str| node.map_or(0, |node| node.requests_of(resource) * 1_000 / node.offers_of(resource).max(1));
        (share("cpu").max(share("memory")), name.clone())
    });
    names
}

/// The nodes, the smallest first.
fn by_size(world: &SimulatedCluster<'_>) -> Vec<String> {
    let mut names = world.nodes();
    names.sort_by_cached_key(|name| {
        let node = world.model.state.node(name);
        (node.map_or((0, 0), |node| (node.offers_of("cpu"), node.offers_of("memory"))), name.clone())
    });
    names
}

/// What stands in the way of nodes.
type Others = Vec<(String, String)>;

/// Plays the drains of a set again; returns it, with those that could follow, and what stands in the way of the others, where that is not known.
fn played(
    world: &mut SimulatedCluster<'_>,
    choices: &Choices,
    mut nodes: Vec<String>,
    names: &[String],
    known: Option<Others>,
) -> (Vec<String>, Others) {
    for name in &nodes {
        drain(world, name, HeldBack::TryAgain, &mut choices.clone());
    }
    if let Some(known) = known {
        return (nodes, known);
    }
    let mut others = Vec::new();
    for name in names.iter().filter(|name| !nodes.contains(name)).cloned().collect::<Vec<_>>() {
        match try_drain(world, choices, &name).0 {
            Ok(()) => nodes.push(name),
            Err(why) => others.push((name, why)),
        }
    }
    (nodes, others)
}

/// Drains a node, unless something stands in the way: that is the error, and the cluster is as before then. Returns, too, how often a pod was tried.
fn try_drain(world: &mut SimulatedCluster<'_>, choices: &Choices, name: &str) -> (Result<(), String>, usize) {
    let (mark, first, before) = (world.mark(), world.events.len(), world.attempts);
    drain(world, name, HeldBack::TryAgain, &mut choices.clone());
    let attempts = world.attempts - before;
    match obstacle(world, first) {
        None => (Ok(()), attempts),
        Some(why) => {
            world.back(mark);
            (Err(why), attempts)
        }
    }
}

/// The search for the largest set.
struct Search<'s> {
    choices: &'s Choices,
    room: &'s Room,
    /// The largest set so far, in its order.
    best: Vec<String>,
    left: usize,
    /// Whether work ran out before every order was tried.
    was_cut: bool,
    /// Clusters that were looked at: drains in another order that end alike.
    seen: HashSet<u64>,
    /// How often a pod was tried so far.
    attempts: usize,
}

impl Search<'_> {
    /// Drains every node that can be, in an order, and reports each as it is decided; returns what stands in the way of the others.
    fn first_order(&mut self, world: &mut SimulatedCluster<'_>, names: &[String], follow: &dyn Follow) -> Others {
        let mut others = Others::new();
        for (at, name) in names.iter().enumerate() {
            follow.begins("node", at + 1, names.len());
            let (result, attempts) = try_drain(world, self.choices, name);
            self.attempts += attempts;
            follow.decided(name, result.as_ref().err().map(String::as_str));
            match result {
                Ok(()) => self.best.push(name.clone()),
                Err(why) => others.push((name.clone(), why)),
            }
        }
        others
    }

    /// Drains every node that can be, in another order, as long as work is left.
    fn in_order(&mut self, world: &mut SimulatedCluster<'_>, names: &[String], follow: &dyn Follow) {
        let mut nodes = Vec::new();
        for name in names {
            if self.left == 0 {
                self.was_cut = true;
                break;
            }
            if self.drain(world, name, follow).is_ok() {
                nodes.push(name.clone());
            }
        }
        if nodes.len() > self.best.len() {
            self.best = nodes;
        }
    }

    /// Tries to drain a node, and counts the work.
    fn drain(&mut self, world: &mut SimulatedCluster<'_>, name: &str, follow: &dyn Follow) -> Result<(), String> {
        follow.begins("step", MOST_WORK - self.left + 1, MOST_WORK);
        let nodes = world.model.state.node_count().max(1);
        let (result, attempts) = try_drain(world, self.choices, name);
        self.attempts += attempts;
        self.left = self.left.saturating_sub((attempts + 1).saturating_mul(nodes));
        result
    }

    /// Tries every order of drains that follows those done, as far as one may be larger than the best.
    fn explore(&mut self, world: &mut SimulatedCluster<'_>, done: &mut Vec<String>, names: &[String], follow: &dyn Follow) {
        if done.len() > self.best.len() {
            self.best.clone_from(done);
        }
        if self.room.most(done) <= self.best.len() || !self.seen.insert(world.fingerprint()) {
            return;
        }
        for name in names {
            if done.contains(name) {
                continue;
            }
            if self.left == 0 {
                self.was_cut = true;
                return;
            }
            let mark = world.mark();
            if self.drain(world, name, follow).is_ok() {
                done.push(name.clone());
                self.explore(world, done, names, follow);
                done.pop();
            }
            world.back(mark);
        }
    }
}

/// What stands in the way of a drain whose events begin there.
fn obstacle(world: &mut SimulatedCluster<'_>, first: usize) -> Option<String> {
    let stops = |what: Happening| matches!(what, Happening::Blocked | Happening::Refused);
    if let Some(event) = world.events[first..].iter().find(|event| stops(event.what)) {
        let budget = event.budget.as_ref().map_or_else(String::new, |budget| format!(" (budget {budget})"));
        let message = event.message.as_deref().unwrap_or_default();
        return Some(format!("pod {}/{}: {message}{budget}", event.pod.namespace, event.pod.name));
    }
    let (pod, message) = world.waiting().into_iter().find(|(pod, _)| pod.is_new)?;
    let owner =
        pod.owner.map_or_else(|| format!("pod {}/{}", pod.namespace, pod.name), |owner| format!("a pod of {}/{owner}", pod.namespace));
    Some(format!("{owner} finds no place: {}", message.unwrap_or_default()))
}

/// Kinds whose pods are made again wherever there is room. A Job may fail instead, and a DaemonSet's pods stay.
const REMADE_KINDS: [&str; 3] = ["ReplicaSet", "ReplicationController", "StatefulSet"];

/// CPU, memory and a number of pods.
type Amounts = [i64; 3];

/// The room of each node, and what has to run.
struct Room {
    /// What each node can carry of what has to run: the rest of its pods aside, and at least what it carries.
    nodes: BTreeMap<String, Amounts>,
    /// What has to run, on all nodes.
    wanted: Amounts,
}

impl Room {
    fn of(world: &mut SimulatedCluster<'_>) -> Self {
        let (mut nodes, mut wanted): (BTreeMap<String, Amounts>, Amounts) = (BTreeMap::new(), [0; 3]);
        for name in world.nodes() {
            let pods = node_lifecycle::on_node(world, &name);
            let (remade, daemons): (Vec<Id>, Vec<Id>) = pods.into_iter().partition(|id| is_of(world, id, &REMADE_KINDS));
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
    fn most(&self, drained: &[String]) -> usize {
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
fn is_of(world: &mut SimulatedCluster<'_>, id: &Id, kinds: &[&str]) -> bool {
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
