//! What a simulation answers, as data: what would happen, in order, and what the nodes carry before and after.

use std::collections::BTreeMap;

/// A pod that something happens to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name. One that a controller makes gets a name that no API server gives: the generated part says which of the new pods it is.
    pub name: String,
    /// The Deployment, StatefulSet, DaemonSet, Job or other controller whose pod it is.
    pub owner: Option<String>,
    /// Whether the simulation made it.
    pub is_new: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// The eviction API took the pod off its node.
    Evicted,
    /// The eviction API refused.
    Blocked,
    /// The pod was deleted.
    Deleted,
    /// The pod was made.
    Created,
    /// A controller could not make a pod: the API server refused it.
    Refused,
    /// The pod found a node.
    Scheduled,
    /// The pod found none.
    Unschedulable,
    /// The pod had to make room for another one.
    Preempted,
}

/// Something that happens to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedEvent {
    /// What.
    pub what: Happening,
    /// When, in milliseconds since the moment looked at.
    pub after: i64,
    /// The pod.
    pub pod: SimulatedPod,
    /// The node it is on or gets.
    pub node: Option<String>,
    /// The nodes that have as many points as the one it gets; for a pod that makes room, those on which room could be made as well.
    pub tied_with: Vec<String>,
    /// Where the scheduler stops before it has seen every node that fits: how many it found, and how many fit. Others might have been chosen then.
    pub sampled: Option<(usize, usize)>,
    /// Why, in the words of the scheduler, the API server or kubectl.
    pub message: Option<String>,
    /// The disruption budget that decides.
    pub budget: Option<String>,
    /// The pod for which this one makes room.
    pub preempted_by: Option<String>,
}

impl SimulatedEvent {
    /// Something that happens to a pod, so many milliseconds after the moment looked at.
    pub(super) fn of(what: Happening, after: i64, pod: SimulatedPod) -> Self {
        Self { what, after, pod, node: None, tied_with: Vec::new(), sampled: None, message: None, budget: None, preempted_by: None }
    }
}

/// What a node carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLoad {
    /// CPU its pods request, in thousandths.
    pub cpu: i64,
    /// CPU it offers.
    pub cpu_of: i64,
    /// Memory its pods request, in bytes.
    pub memory: i64,
    /// Memory it offers.
    pub memory_of: i64,
    /// Its pods.
    pub pods: i64,
    /// How many it takes.
    pub pods_of: i64,
}

/// The load of nodes, by their names.
pub type Loads = BTreeMap<String, NodeLoad>;

/// How many more of a workload's pods fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// How many.
    pub count: usize,
    /// Why the next one does not; `None` where the count ended at the most that is tried.
    pub message: Option<String>,
}

/// What holds in several futures, in which equals are chosen differently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Futures {
    /// How many futures there are.
    pub count: usize,
    /// The workloads whose pods looked for a node in one of them.
    pub workloads: Vec<Future>,
}

/// What becomes of a workload's pods in several futures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Future {
    /// The workload's namespace.
    pub namespace: String,
    /// Its name, or that of a pod without a controller.
    pub owner: String,
    /// In each future, how many of its pods wait at the end.
    pub waiting: Vec<usize>,
    /// The nodes its pods get, each with the number of futures.
    pub nodes: BTreeMap<String, usize>,
}

/// What the loss of some nodes does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The node, the zone, or the label's value.
    pub name: String,
    /// The nodes.
    pub nodes: Vec<String>,
    /// How many pods leave them.
    pub evicted: usize,
    /// The pods that find no place, each with the scheduler's message.
    pub waiting: Vec<(SimulatedPod, Option<String>)>,
    /// The disruption budgets that have fewer healthy pods than they need, as NAMESPACE/NAME.
    pub budgets: Vec<String>,
}

/// Which nodes could be drained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spare {
    /// Those that could be, one after the other, in this order.
    pub nodes: Vec<String>,
    /// The others, each with what would prevent its drain once those are drained.
    pub others: Vec<(String, String)>,
    /// Whether no larger set exists, where the first of equal nodes is chosen each time.
    pub is_largest: bool,
    /// How many nodes could be drained at most: by the room of the nodes alone, where it is not known better.
    pub most: usize,
    /// Whether these are the nodes of the first order, the emptiest first, so that what [`Follow::decided`](super::Follow::decided) said of each node is still true.
    pub is_first_order: bool,
    /// How often a pod was tried: the search for a larger set is bounded by it.
    pub attempts: usize,
}

/// What the simulation does not know, and where that matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unmodelled {
    /// A pod that no controller makes again.
    Bare {
        /// The pod, as NAMESPACE/NAME.
        pod: String,
    },
    /// Admission webhooks may change or refuse what is created.
    Webhooks {
        /// How many configurations of webhooks for pods there are.
        configurations: usize,
    },
    /// Pods that a budget held back could leave once the others had left: kubectl drain, which tries again, evicts them.
    DrainGoesOn {
        /// The node.
        node: String,
        /// How many pods.
        pods: usize,
    },
    /// A pod's controller is of a kind whose rules are not known here, so nothing replaces the pod.
    Controller {
        /// The controller's kind.
        kind: String,
        /// Its namespace and name.
        name: String,
    },
    /// A node that does not answer never says that its pods have ended: they stay until somebody removes them or the node.
    NeverEnds {
        /// The node.
        node: String,
    },
    /// Where most nodes do not answer, no pod leaves them: with the default flags of kube-controller-manager, which etcd does not hold.
    NoEvictions {
        /// The zone; `None`: all nodes of the cluster.
        zone: Option<String>,
    },
    /// A pod of another scheduler waits for that one.
    OtherScheduler {
        /// The scheduler's name.
        name: String,
    },
    /// An autoscaler changes the number of a workload's pods.
    Autoscaled {
        /// The workload, as KIND/NAMESPACE/NAME.
        workload: String,
    },
    /// An autoscaler of nodes may add some for pods that find no place.
    NodesAutoscaled {
        /// The autoscaler.
        by: String,
    },
    /// A workload's pods are replaced: how fast they start and stop is not known, and a DaemonSet takes its nodes in random order.
    Rollout {
        /// The workload, as KIND/NAMESPACE/NAME.
        workload: String,
    },
    /// Which of a workload's pods were deleted is chance: the controller has no rule that tells them apart.
    DeletedByChance {
        /// The workload, as KIND/NAMESPACE/NAME.
        workload: String,
    },
    /// The pods of several controllers were made at once: in which order is chance.
    Order {
        /// The controllers.
        owners: Vec<String>,
    },
    /// Pods got nodes that do not have their images, by their status: they have to be pulled, which takes time and may fail.
    ImagePulls {
        /// How many pods.
        pods: usize,
    },
    /// What becomes of a group's pods depends on more than the state.
    PodGroup {
        /// The group, as NAMESPACE/NAME.
        group: String,
        /// On what.
        doubt: GroupDoubt,
    },
    /// A claim is provided by a driver, which may fail.
    Provisioned {
        /// The claim, as NAMESPACE/NAME.
        claim: String,
    },
    /// The scheduler's configuration names an extender or a plugin whose answers are not known.
    Extension {
        /// The extender's address, or the plugin's name.
        name: String,
    },
    /// An object cannot be read, so what depends on it is left out.
    Unreadable {
        /// The object.
        object: String,
    },
    /// Several nodes are as good for making room for a pod: which one the scheduler takes is chance.
    PreemptionNode {
        /// The pod that finds no place, as NAMESPACE/NAME.
        pod: String,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Which pods make room for another one is chance: one that goes and one that stays are equal.
    Victims {
        /// The pod that finds no place, as NAMESPACE/NAME.
        pod: String,
        /// The node on which room is made.
        node: String,
    },
    /// A controller wants more pods than one run makes.
    PodsBounded {
        /// The controller, as KIND/NAMESPACE/NAME.
        workload: String,
        /// How many more pods there may be than at the beginning.
        most: usize,
    },
    /// More nodes were to be added than one run adds.
    NodesBounded {
        /// How many were to be added.
        wanted: u64,
        /// How many of them were.
        added: u64,
    },
    /// Whether a pod fits the node that it got is not known.
    UnknownFit {
        /// The pod, as NAMESPACE/NAME.
        pod: String,
        /// The missing evidence.
        missing: String,
    },
    /// The simulation was ended after this many steps, before the cluster came to rest.
    Endless {
        /// How many steps.
        steps: usize,
    },
}

/// Why what becomes of a group's pods is not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupDoubt {
    /// The gates of the scheduler are taken to be those by default, and these know no groups: the pods are tried one by one.
    GateOff,
    /// Its pods differ, and in which order they are tried is not in etcd.
    Order,
    /// Several sets of nodes are as good for it, or as bad.
    Placement,
    /// Whether preemption makes room for it was not computed.
    Preemption,
    /// Which pods make room for it is partly chance.
    Victims,
    /// It would be the group of a new Job's pods: whether the Job controller makes one depends on its gates, which are not in etcd.
    OfNewJob,
    /// The scheduler stops before it has seen every node that fits, which is not played for groups.
    Sampled,
}

/// The answer to a what-if.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// The revision that the simulation began with.
    pub revision: i64,
    /// What was done, in the user's words.
    pub actions: Vec<String>,
    /// What happens, in order.
    pub events: Vec<SimulatedEvent>,
    /// How many more fit, where that was asked.
    pub fit: Option<Fit>,
    /// What holds in several futures, where that was asked; the events are those of the first.
    pub futures: Option<Futures>,
    /// What the loss of each group of nodes does, the worst first, where that was asked.
    pub losses: Option<Vec<Loss>>,
    /// Which nodes could be drained, where that was asked.
    pub spare: Option<Spare>,
    /// Nodes before.
    pub before: Loads,
    /// Nodes after.
    pub after: Loads,
    /// What the simulation does not know.
    pub caveats: Vec<Unmodelled>,
    /// The pods that wait at the end, those made and those that waited before, each with the scheduler's message if it was tried.
    pub waiting: Vec<(SimulatedPod, Option<String>)>,
}

impl WhatIf {
    /// How often something happens.
    pub fn count(&self, what: Happening) -> usize {
        self.events.iter().filter(|event| event.what == what).count()
    }

    /// Whether all that was to find a place found one, and nothing was blocked.
    pub fn finds_places(&self) -> bool {
        let is_new = |pod: &SimulatedPod| pod.is_new;
        let is_pending =
            self.futures.iter().flat_map(|futures| &futures.workloads).any(|future| future.waiting.iter().any(|count| *count > 0));
        let is_lost = self.losses.iter().flatten().any(|loss| !loss.waiting.is_empty());
        !is_pending
            && !is_lost
            && self.fit.as_ref().is_none_or(|fit| fit.count > 0)
            && !self.events.iter().any(|event| matches!(event.what, Happening::Blocked | Happening::Refused))
            && !self.waiting.iter().any(|(pod, _)| is_new(pod))
            && !self.caveats.iter().any(|unknown| matches!(unknown, Unmodelled::PodsBounded { .. }))
    }
}
