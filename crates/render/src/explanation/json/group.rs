//! The cycle of a pod's whole group as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::contract::common::ObjectName;
use ketcd_scheduler::cluster::PodKey;
use ketcd_scheduler::{CompositeGroupResult, GroupCycle, GroupOutcome, MemberResult, PlacementResult};

/// The cycle of a whole pod group.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodGroupCycle<'a> {
    /// The group's name.
    name: &'a str,
    /// How the cycle ends.
    outcome: PodGroupOutcome,
    /// The scheduler's message for the group; may be empty.
    message: &'a str,
    /// How many pods must fit together; null for a group that is not a gang.
    min_count: Option<usize>,
    /// How many pods of the group had nodes before.
    scheduled: usize,
    /// The pods in the order in which they are tried.
    order: Vec<ObjectName<'a>>,
    /// The node label whose values the placements are; null where the group has no such constraint.
    topology_key: Option<&'a str>,
    /// The placements tried.
    placements: Vec<Placement<'a>>,
    /// The composite pod groups above it, the nearest first; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    composite_pod_groups: Vec<CompositePodGroup<'a>>,
    /// The pods that preemption would delete for the group.
    victims: Vec<ObjectName<'a>>,
}

/// A composite pod group.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompositePodGroup<'a> {
    /// Its name.
    name: &'a str,
    /// Whether it fits.
    fits: bool,
    /// The scheduler's message for it; may be empty.
    message: &'a str,
    /// How many of its groups must fit together; null where all are independent.
    min_group_count: Option<usize>,
    /// Its groups.
    groups: Vec<PartOfComposite<'a>>,
    /// The node label whose values the placements are; null where it has no such constraint.
    topology_key: Option<&'a str>,
    /// The placements tried.
    placements: Vec<Placement<'a>>,
}

/// A group of a composite pod group.
#[derive(Debug, Serialize, JsonSchema)]
struct PartOfComposite<'a> {
    /// Its name.
    name: &'a str,
    /// Whether it fits; absent where it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<bool>,
}

/// Nodes on which the group is tried.
#[derive(Debug, Serialize, JsonSchema)]
struct Placement<'a> {
    /// The value of the node label; null where all nodes are one placement.
    name: Option<&'a str>,
    /// How many nodes it has.
    nodes: usize,
    /// Whether the group fits.
    feasible: bool,
    /// Whether it is the chosen one.
    chosen: bool,
    /// The scheduler's message where the group does not fit; may be empty.
    message: &'a str,
    /// Every plugin that scores placements.
    scores: Vec<PlacementScore>,
    /// The sum of the weighted scores; null if there are none.
    total: Option<i64>,
    /// The group's pods on it.
    pods: Vec<PlacedPod<'a>>,
}

/// The score of a placement by a plugin.
#[derive(Debug, Serialize, JsonSchema)]
struct PlacementScore {
    /// The plugin.
    plugin: &'static str,
    /// Its score before it is normalized over all placements.
    raw: i64,
    /// Its normalized score.
    normalized: i64,
    /// Its weight in the profile.
    weight: i64,
    /// `normalized` times `weight`.
    weighted: i64,
}

/// A pod of the group on a placement.
#[derive(Debug, Serialize, JsonSchema)]
struct PlacedPod<'a> {
    /// The pod.
    pod: ObjectName<'a>,
    /// Its node; null where it fits on none.
    node: Option<&'a str>,
    /// Whether other pods must be evicted first.
    preempts: bool,
    /// Nodes that are as good; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tied: Vec<&'a str>,
    /// The scheduler's message where it fits on none; null elsewhere.
    message: Option<&'a str>,
}

/// The group's cycle as scripts read it.
pub(super) fn group(cycle: &GroupCycle) -> PodGroupCycle<'_> {
    PodGroupCycle {
        name: &cycle.name,
        outcome: cycle.outcome.into(),
        message: &cycle.message,
        min_count: cycle.min_count,
        scheduled: cycle.scheduled,
        order: cycle.order.iter().map(pod).collect(),
        topology_key: cycle.topology_key.as_deref(),
        placements: placements(&cycle.placements, cycle.chosen),
        composite_pod_groups: cycle.above.iter().map(composite).collect(),
        victims: cycle.victims.iter().map(|victim| ObjectName::pod(&victim.namespace, &victim.name)).collect(),
    }
}

fn pod((namespace, name): &PodKey) -> ObjectName<'_> {
    ObjectName::pod(namespace, name)
}

fn composite(group: &CompositeGroupResult) -> CompositePodGroup<'_> {
    CompositePodGroup {
        name: &group.name,
        fits: group.fits,
        message: &group.message,
        min_group_count: group.min_group_count,
        groups: group.groups.iter().map(|(name, fits)| PartOfComposite { name, fits: *fits }).collect(),
        topology_key: group.topology_key.as_deref(),
        placements: placements(&group.placements, group.chosen),
    }
}

fn placements<'a>(tried: &'a [PlacementResult], chosen: Option<usize>) -> Vec<Placement<'a>> {
    let placement = |(at, placement): (usize, &'a PlacementResult)| Placement {
        name: placement.name.as_deref(),
        nodes: placement.nodes,
        feasible: placement.feasible,
        chosen: chosen == Some(at),
        message: &placement.message,
        scores: placement.scores.iter().map(|score| self::score(*score)).collect(),
        total: placement.total(),
        pods: placement.members.iter().map(member).collect(),
    };
    tried.iter().enumerate().map(placement).collect()
}

fn member(tried: &MemberResult) -> PlacedPod<'_> {
    PlacedPod {
        pod: pod(&tried.pod),
        node: tried.node.as_deref(),
        preempts: tried.preempts,
        tied: tried.tied.iter().map(|node| &**node).collect(),
        message: tried.message.as_deref(),
    }
}

fn score((plugin, raw, normalized, weight): (&'static str, i64, i64, i64)) -> PlacementScore {
    PlacementScore { plugin, raw, normalized, weight, weighted: normalized * weight }
}

/// How the cycle of a pod group ends.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
enum PodGroupOutcome {
    /// The group fits.
    Scheduled,
    /// It does not.
    Unschedulable,
    /// It fits once the victims have terminated.
    WaitingOnPreemption,
    /// The cycle ends with an error.
    Error,
    /// The data does not hold the evidence.
    Unknown,
}

impl From<GroupOutcome> for PodGroupOutcome {
    fn from(outcome: GroupOutcome) -> Self {
        match outcome {
            GroupOutcome::Scheduled => Self::Scheduled,
            GroupOutcome::Unschedulable => Self::Unschedulable,
            GroupOutcome::WaitsForPreemption => Self::WaitingOnPreemption,
            GroupOutcome::Error => Self::Error,
            GroupOutcome::Unknown => Self::Unknown,
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
}
