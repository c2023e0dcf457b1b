//! CheckNodeCondition and the three pressure predicates: they read the node's conditions, which later releases turned into taints.
//! Source: `algorithm/predicates/predicates.go` (1.9–1.16).

use std::sync::Arc;

use crate::cluster::{ContainerRequests, NodeInfo, PodInfo, ResourceList};

use super::{pages, prefilter};
use crate::framework::{ChangeOf, Fact, Fix, Need, NodeCheck, Obstacle};
use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::Reason;
use crate::release::Rules;
use crate::{Candidate, Cycle, Plugin, PreFilter, Verdict, plugins};

/// CheckNodeCondition: all that is wrong is reported together. A node without a Ready condition passes.
pub(super) struct CheckNodeCondition;

impl Plugin for CheckNodeCondition {
    fn name(&self) -> &'static str {
        "CheckNodeCondition"
    }

    fn doc(&self) -> &'static str {
        pages::CHECK_NODE_CONDITION
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        prefilter(cycle, check_node_condition(cycle))
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        let mut facts = plugins::rule("NodeUnschedulable").compared(
            cycle,
            node,
            &if node.unschedulable { Verdict::unresolvable("") } else { Verdict::Pass },
        );
        for condition in &node.conditions {
            let wanted = match &*condition.kind {
                "Ready" => "True",
                "NetworkUnavailable" => "False",
                "OutOfDisk" if cycle.profile.rules.knows_out_of_disk() => "False",
                _ => continue,
            };
            let check = NodeCheck::Condition { kind: condition.kind.clone(), status: Some(condition.status.clone()) };
            facts.push(Fact::new(&*condition.status == wanted, check));
        }
        facts
    }

    /// A cordon can be lifted, conditions cannot.
    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        let known =
            |kind: &str| matches!(kind, "Ready" | "NetworkUnavailable") || kind == "OutOfDisk" && cycle.profile.rules.knows_out_of_disk();
        let wanted = |kind: &str| if kind == "Ready" { "True" } else { "False" };
        let unhealthy = node.conditions.iter().filter(|condition| known(&condition.kind) && &*condition.status != wanted(&condition.kind));
        let unhealthy = unhealthy
            .map(|condition| Need::hopeless(Obstacle::Condition { kind: condition.kind.clone(), status: condition.status.clone() }));
        unhealthy.chain(node.unschedulable.then(|| Need::one_of(vec![Fix::Uncordon]))).collect()
    }

    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Node
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

fn check_node_condition<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    let knows_out_of_disk = cycle.profile.rules.knows_out_of_disk();
    Box::new(move |candidate| {
        let mut reasons: Vec<_> = candidate
            .conditions
            .iter()
            .filter_map(|condition| match (&*condition.kind, &*condition.status) {
                ("Ready", status) if status != "True" => Some(Reason::NodeNotReady),
                ("OutOfDisk", status) if status != "False" && knows_out_of_disk => Some(Reason::NodeOutOfDisk),
                ("NetworkUnavailable", status) if status != "False" => Some(Reason::NodeNetworkUnavailable),
                _ => None,
            })
            .collect();
        if candidate.unschedulable {
            reasons.push(Reason::NodeUnschedulable);
        }
        Ok(reasons)
    })
}

/// A predicate that keeps pods off nodes under a pressure.
pub(super) struct Pressure {
    name: &'static str,
    doc: &'static str,
    /// The node's condition.
    condition: &'static str,
    /// Whether pods of the class BestEffort alone are kept off.
    best_effort: bool,
    reason: Reason,
}

/// CheckNodeMemoryPressure: only pods of the class BestEffort are kept away.
pub(super) static MEMORY_PRESSURE: Pressure = Pressure {
    name: "CheckNodeMemoryPressure",
    doc: pages::CHECK_NODE_MEMORY_PRESSURE,
    condition: "MemoryPressure",
    best_effort: true,
    reason: Reason::NodeUnderMemoryPressure,
};

/// CheckNodeDiskPressure.
pub(super) static DISK_PRESSURE: Pressure = Pressure {
    name: "CheckNodeDiskPressure",
    doc: pages::CHECK_NODE_DISK_PRESSURE,
    condition: "DiskPressure",
    best_effort: false,
    reason: Reason::NodeUnderDiskPressure,
};

/// CheckNodePIDPressure.
pub(super) static PID_PRESSURE: Pressure = Pressure {
    name: "CheckNodePIDPressure",
    doc: pages::CHECK_NODE_PID_PRESSURE,
    condition: "PIDPressure",
    best_effort: false,
    reason: Reason::NodeUnderPidPressure,
};

impl Plugin for Pressure {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let concerned = !self.best_effort || is_best_effort(cycle.pod, &cycle.profile.rules);
        let (condition, reason) = (self.condition, self.reason.clone());
        prefilter(cycle, Box::new(move |candidate| Ok(under(candidate.node, condition, concerned, &reason))))
    }

    fn compared(&self, _cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
        let kind = self.condition.into();
        let check = match status(node, self.condition) {
            Some(status) if verdict.passes() && &**status == "True" => NodeCheck::PressureOnBestEffort { kind },
            status => NodeCheck::Condition { kind, status: status.cloned() },
        };
        vec![Fact::new(verdict.passes(), check)]
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

fn under(node: &NodeInfo, kind: &str, concerned: bool, reason: &Reason) -> Vec<Reason> {
    if concerned && status(node, kind).is_some_and(|status| &**status == "True") { vec![reason.clone()] } else { Vec::new() }
}

/// The cache keeps one status per condition: that of the last condition of the type.
fn status<'n>(node: &'n NodeInfo, kind: &str) -> Option<&'n Arc<str>> {
    node.conditions.iter().rev().find(|condition| &*condition.kind == kind).map(|condition| &condition.status)
}

/// Whether no container that counts asks for or is limited in cpu or memory, or in huge pages where these count (`helper/qos/qos.go`).
fn is_best_effort(pod: &PodInfo, rules: &Rules) -> bool {
    let counted = |name: &str| matches!(name, "cpu" | "memory") || rules.huge_pages_count_for_qos() && name.starts_with("hugepages-");
    let asks = |list: &ResourceList| list.iter().any(|(name, amount)| counted(name) && amount.value() > 0);
    let counts = |container: &ContainerRequests| asks(&container.requests) || asks(&container.limits);
    let requests = &pod.spec.requests;
    !requests.containers.iter().any(counts) && (!rules.init_containers_count_for_qos() || !requests.init_containers.iter().any(counts))
}
