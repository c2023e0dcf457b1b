//! What a cluster's scheduler and controllers keep in memory: queues, backoffs, timers, what each has to look at again; with a clock, and the record
//! of what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use ketcd_scheduler::cluster::Node;
use ketcd_scheduler::queue::SchedulingQueue;
use ketcd_scheduler::{Reservation, Scheduler};
use serde_json::Value;

use super::answer::{SimulatedEvent, Unmodelled};
use super::model::Id;

/// How many more pods there may be than at the beginning. A user who may create a ReplicaSet may write any number into it.
const MOST_MORE_PODS: i64 = 5_000;

const MOST_MORE_NODES: u64 = 1_000;

/// What happens at a time of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A pod's containers run and are ready, and its kubelet says so.
    Started(Id, String),
    /// A pod's containers have stopped, and its kubelet says so.
    Ended(Id, String),
    /// A controller that waits tries again.
    Again(Id),
    /// A pod has tolerated its node's taints for as long as it does.
    NoLongerTolerated(Id, String),
    /// A pod waits no longer on its node for the others of its gang.
    PermitEnds(Id),
    /// It is the turn of a node that does not answer: its pods have to leave.
    Unreachable(String),
}

/// A pod that waits on its node (Permit).
#[derive(Clone)]
pub(super) struct Held {
    /// Its gang, as NAMESPACE/NAME.
    pub gang: String,
    /// The node.
    pub node: Arc<str>,
    /// What it takes there.
    pub taken: Reservation,
    /// When it stops to wait, in milliseconds since 1970.
    pub until: i64,
}

/// Where a scheduler is in its list of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeWalk {
    /// The nodes, zones taking turns.
    pub order: Vec<String>,
    /// Where the next attempt begins (`nextStartNodeIndex`).
    pub start: usize,
    /// Whether nodes came or went since it was made.
    pub is_stale: bool,
}

/// All that a cluster is but its objects.
#[derive(Clone, Default)]
pub(super) struct InMemoryState {
    pub queue: SchedulingQueue,
    /// The moment it began with, in milliseconds since 1970.
    pub began: i64,
    /// The time, in milliseconds since 1970.
    pub now: i64,
    due: BTreeMap<(i64, u64), Due>,
    dues: u64,
    /// Controllers that have to look at their objects again.
    pub dirty: BTreeSet<Id>,
    /// Namespaces in which the disruption controller has something to do since it looked last.
    pub budgets: BTreeSet<String>,
    /// Namespaces whose disruption budgets have to be counted again before somebody reads what they allow.
    pub uncounted: BTreeSet<String>,
    /// No pod had a lower priority so far. The lowest there is, where pods have the priority of their group.
    pub lowest_priority: i32,
    /// Deployments that were changed: their rollout runs until it is done.
    pub changed: BTreeSet<Id>,
    /// Those of them that have a new template.
    pub rollouts: BTreeSet<Id>,
    /// DaemonSets that have a new template, each with its revision.
    pub revisions: BTreeMap<Id, String>,
    /// Nodes that were written, each as it was, unless it is new, and as it is: DaemonSets may have to look again.
    pub nodes_written: Vec<(Option<Arc<Node>>, Arc<Node>)>,
    /// Pods that are gone: their claims have to be released.
    pub gone: Vec<Arc<Value>>,
    /// Pods that were deleted: their Jobs count them as failed.
    pub deleted: Vec<Arc<Value>>,
    /// The failures of Jobs' pods: how many in a row, and when the last was, in milliseconds since 1970.
    pub failures: BTreeMap<Id, (u32, i64)>,
    /// Controllers whose pods the API server refused.
    pub refused_owners: BTreeSet<Id>,
    /// Pods that have a node and wait there for the others of their gang.
    pub held: BTreeMap<Id, Held>,
    /// The gangs whose pods waited in vain, each with the number of changes by then.
    pub timed_out: BTreeMap<String, u64>,
    /// Nodes that do not answer.
    pub silent: BTreeSet<String>,
    /// Where the scheduler is in its list of nodes.
    pub walk: NodeWalk,
    /// What adds nodes for pods that find no place.
    pub node_autoscalers: BTreeSet<String>,
    /// How often the scheduler tried a pod.
    pub attempts: usize,
    /// How often objects were changed, but for what the scheduler says of pods that it refuses.
    pub changes: u64,
    pub events: Vec<SimulatedEvent>,
    pub caveats: BTreeSet<Unmodelled>,
    /// The pods that the simulation made.
    pub made: BTreeSet<Id>,
    /// How many more pods there are than at the beginning, except those of DaemonSets, whose number nodes limit.
    pub more_pods: i64,
    /// How many more there may be.
    pub most_more_pods: i64,
    /// How many more nodes there may be.
    pub nodes_left: u64,
    names: u64,
    /// The scheduler's last message about each pod that waits.
    pub messages: BTreeMap<Id, String>,
}

impl InMemoryState {
    /// That of a cluster at a moment, in milliseconds since 1970, when nothing has happened yet.
    pub(super) fn of(scheduler: &Scheduler, now: i64) -> Self {
        let (most_more_pods, nodes_left) = (MOST_MORE_PODS, MOST_MORE_NODES);
        Self { queue: SchedulingQueue::new(scheduler), began: now, now, most_more_pods, nodes_left, ..Self::default() }
    }

    pub(super) fn timestamp(&self) -> String {
        Timestamp::from_second(self.now.div_euclid(1_000)).map(|time| time.to_string()).unwrap_or_default()
    }

    /// The end of a name that an API server would generate; it has a letter and a digit that those never have.
    pub(super) fn generated(&mut self) -> String {
        self.names += 1;
        format!("new{}", self.names)
    }

    /// Lets something happen in this many milliseconds.
    pub(super) fn later(&mut self, milliseconds: i64, what: Due) {
        self.dues += 1;
        let when = (self.now.saturating_add(milliseconds), self.dues);
        self.due.insert(when, what);
    }

    pub(super) fn next_due(&self) -> Option<i64> {
        self.due.keys().next().map(|(time, _)| *time)
    }

    /// Takes the next thing that is due by now.
    pub(super) fn take_due(&mut self) -> Option<Due> {
        let first = *self.due.keys().next().filter(|(time, _)| *time <= self.now)?;
        self.due.remove(&first)
    }

    /// Whether the simulation made a pod.
    pub(super) fn has_made(&self, id: &Id) -> bool {
        self.made.contains(id)
    }
}
