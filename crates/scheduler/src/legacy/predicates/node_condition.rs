//! CheckNodeCondition and the three pressure predicates: they read the node's conditions, which later releases turned into taints.
//! Source: `algorithm/predicates/predicates.go` (1.9–1.16).

use crate::cluster::{ContainerRequests, NodeInfo, PodInfo, ResourceList};

use super::Prepared;
use crate::Cycle;
use crate::legacy::reason::Reason;

/// CheckNodeCondition: all that is wrong is reported together. A node without a Ready condition passes.
pub(super) fn check_node_condition<'a>(cycle: &'a Cycle<'a>) -> Prepared<'a> {
    let knows_out_of_disk = cycle.profile.release.0 <= 13;
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

/// CheckNodeMemoryPressure: only pods of the class BestEffort are kept away.
pub(super) fn check_memory_pressure<'a>(cycle: &'a Cycle<'a>) -> Prepared<'a> {
    let concerned = is_best_effort(cycle.pod, cycle.profile.release.0);
    Box::new(move |candidate| Ok(under(candidate.node, "MemoryPressure", concerned, Reason::NodeUnderMemoryPressure)))
}

/// CheckNodeDiskPressure.
pub(super) fn check_disk_pressure<'a>(_cycle: &'a Cycle<'a>) -> Prepared<'a> {
    Box::new(|candidate| Ok(under(candidate.node, "DiskPressure", true, Reason::NodeUnderDiskPressure)))
}

/// CheckNodePIDPressure.
pub(super) fn check_pid_pressure<'a>(_cycle: &'a Cycle<'a>) -> Prepared<'a> {
    Box::new(|candidate| Ok(under(candidate.node, "PIDPressure", true, Reason::NodeUnderPidPressure)))
}

/// The cache keeps one status per condition: that of the last condition of the type.
fn under(node: &NodeInfo, kind: &str, concerned: bool, reason: Reason) -> Vec<Reason> {
    let status = node.conditions.iter().rev().find(|condition| &*condition.kind == kind).map(|condition| &*condition.status);
    if concerned && status == Some("True") { vec![reason] } else { Vec::new() }
}

/// Whether no container asks for or is limited in cpu or memory (`helper/qos/qos.go`; 1.9: or huge pages); init containers count from 1.16 on.
fn is_best_effort(pod: &PodInfo, release: u16) -> bool {
    let counted = |name: &str| matches!(name, "cpu" | "memory") || release == 9 && name.starts_with("hugepages-");
    let asks = |list: &ResourceList| list.iter().any(|(name, amount)| counted(name) && amount.value() > 0);
    let counts = |container: &ContainerRequests| asks(&container.requests) || asks(&container.limits);
    let requests = &pod.spec.requests;
    !requests.containers.iter().any(counts) && (release <= 15 || !requests.init_containers.iter().any(counts))
}
