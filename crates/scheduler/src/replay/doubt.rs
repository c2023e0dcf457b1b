//! Whether an attempt's numbers would differ if a neighbour had been decided about on its other side. Where the recorded outcome follows all the
//! same, nothing in etcd says which of the two states the attempt saw.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::UndoLog;
use crate::explanation::{Attempt, NeighbourDoubt};

use super::Replay;
use super::assumed::{Neighbours, Order};
use super::difference::{differing, mark};
use super::evaluate::EvaluatedAttempt;
use super::sought_state::{ChosenState, SoughtState};

impl Replay {
    /// Evaluates an attempt on the state that it saw, and marks what depends on neighbours whose place is open; returns those, too.
    pub(crate) fn evaluated(&mut self, attempt: &Attempt, neighbours: &Neighbours) -> (ChosenState, Vec<NeighbourDoubt>) {
        let end = self.journal.len();
        let back = self.undo_after(attempt.revision - 1, end);
        let mut sought = self.sought(attempt);
        let (mut chosen, neighbours) = if self.scheduler.is_as_recorded() {
            self.with_members(&sought, neighbours, back)
        } else {
            sought.pod = attempt.pod.clone();
            let evaluation = self.evaluate(attempt, &sought.pod, attempt.revision - 1, neighbours);
            ((evaluation, attempt.revision - 1, None), neighbours.clone())
        };
        let mut doubts = self.doubt_members(&sought, &mut chosen.0, chosen.1, &neighbours);
        doubts.extend(self.doubt_neighbours(&sought, &mut chosen.0, chosen.1, &neighbours));
        chosen.0.unseen_ends = self.doubt_ends(&sought, &mut chosen.0, chosen.1, &neighbours);
        (chosen, doubts)
    }

    /// Tries each neighbour whose place is open on the other side of the attempt, and those of one node together; marks what differs and returns the neighbours it depends on. The
    /// state is the one evaluated, as of `revision`.
    fn doubt_neighbours(
        &mut self,
        sought: &SoughtState,
        evaluation: &mut EvaluatedAttempt,
        revision: i64,
        neighbours: &Neighbours,
    ) -> Vec<NeighbourDoubt> {
        let mut tried = neighbours.open();
        if !evaluation.follows {
            tried.extend(neighbours.far());
        }
        let (mut found, mut settled) = (Vec::new(), neighbours.clone());
        if let Some(turned) = &evaluation.turned {
            settled.settle(turned.at, if turned.counted { Order::Before } else { Order::After });
            tried.retain(|at| *at != turned.at);
            found.push(doubt(neighbours, turned.at, (turned.counted, true), turned.nodes.clone()));
        }
        if tried.is_empty() {
            return found;
        }
        let certain = evaluation.certain().clone();
        let tried = self.first_tried(tried);
        let several = if evaluation.follows { together(&settled, &tried, revision) } else { Vec::new() };
        for turned in tried.into_iter().map(|at| vec![at]).chain(several) {
            let mut log = UndoLog::new(self);
            let (other, _) = log.evaluate_turned(sought, &settled, &turned, revision);
            drop(log);
            if !other.follows && evaluation.follows {
                continue;
            }
            let names: Vec<String> = turned.iter().map(|at| neighbours.get(*at).pod.full_name()).collect();
            let nodes = match other.follows {
                true => mark(&mut evaluation.judgement, &certain, &other.judgement, &is_open(&names)),
                false => differing(&certain, &other.judgement),
            };
            if !nodes.is_empty() || !evaluation.follows {
                let each = turned.into_iter().map(|at| doubt(neighbours, at, (settled.get(at).is_counted(revision), false), nodes.clone()));
                each.for_each(|doubt| add(&mut found, doubt));
            }
        }
        evaluation.certain = Some(Box::new(certain));
        found
    }
}

/// Neighbours on one node that are counted, and those that are not, where there are several: together they may change what none of them changes alone.
fn together(neighbours: &Neighbours, tried: &[usize], revision: i64) -> Vec<Vec<usize>> {
    let mut found: BTreeMap<(Option<&str>, bool), Vec<usize>> = BTreeMap::new();
    for at in tried {
        let neighbour = neighbours.get(*at);
        found.entry((neighbour.pod.node_name.as_deref(), neighbour.is_counted(revision))).or_default().push(*at);
    }
    found.into_values().filter(|on_node| on_node.len() > 1).collect()
}

/// Adds a neighbour, or the nodes that depend on one that is known.
fn add(found: &mut Vec<NeighbourDoubt>, doubt: NeighbourDoubt) {
    match found.iter_mut().find(|known| known.pod == doubt.pod && known.written == doubt.written) {
        Some(known) => {
            known.nodes.extend(doubt.nodes);
            known.nodes.sort();
            known.nodes.dedup();
        }
        None => found.push(doubt),
    }
}

/// What is missing where the order of an attempt and some neighbours is open.
pub(super) fn is_open(neighbours: &[String]) -> String {
    let were = if neighbours.len() == 1 { "was" } else { "were" };
    format!("etcd does not say whether {} {were} decided about before this attempt or after it", neighbours.join(", "))
}

/// A neighbour on which something depends; `counted`: whether the evaluation counts it; `needed`: whether the outcome follows only because of that.
fn doubt(neighbours: &Neighbours, at: usize, (counted, needed): (bool, bool), nodes: Vec<Arc<str>>) -> NeighbourDoubt {
    let neighbour = neighbours.get(at);
    NeighbourDoubt { pod: neighbour.pod.full_name(), written: neighbour.written, counted, needed, nodes }
}
