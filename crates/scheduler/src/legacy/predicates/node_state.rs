//! CheckNodeUnschedulable, PodToleratesNodeTaints and PodToleratesNodeNoExecuteTaints: what the node's spec keeps away.
//! Source: `algorithm/predicates/predicates.go`.

use crate::cluster::{PodInfo, Taint, Toleration};

use super::Prepared;
use crate::Cycle;
use crate::legacy::reason::Reason;

/// CheckNodeUnschedulable. From 1.12 on a toleration of the taint `node.kubernetes.io/unschedulable` lets a pod pass.
pub(super) fn check_node_unschedulable<'a>(cycle: &'a Cycle<'a>) -> Prepared<'a> {
    let taint = Taint { key: "node.kubernetes.io/unschedulable".into(), value: "".into(), effect: "NoSchedule".into() };
    let tolerated = cycle.profile.release.0 >= 12 && tolerates(cycle.pod, &taint);
    Box::new(move |candidate| Ok(if candidate.unschedulable && !tolerated { vec![Reason::NodeUnschedulable] } else { Vec::new() }))
}

/// PodToleratesNodeTaints.
pub(super) fn pod_tolerates_node_taints<'a>(cycle: &'a Cycle<'a>) -> Prepared<'a> {
    tolerates_all(cycle, &["NoSchedule", "NoExecute"])
}

/// PodToleratesNodeNoExecuteTaints.
pub(super) fn pod_tolerates_no_execute_taints<'a>(cycle: &'a Cycle<'a>) -> Prepared<'a> {
    tolerates_all(cycle, &["NoExecute"])
}

fn tolerates_all<'a>(cycle: &'a Cycle<'a>, effects: &'static [&'static str]) -> Prepared<'a> {
    Box::new(move |candidate| {
        let refuses = |taint: &Taint| effects.contains(&&*taint.effect) && !tolerates(cycle.pod, taint);
        Ok(if candidate.taints.iter().any(refuses) { vec![Reason::TaintsTolerationsNotMatch] } else { Vec::new() })
    })
}

fn tolerates(pod: &PodInfo, taint: &Taint) -> bool {
    let matches = |toleration: &Toleration| {
        (toleration.effect.is_empty() || toleration.effect == taint.effect)
            && (toleration.key.is_empty() || toleration.key == taint.key)
            && match &*toleration.operator {
                "" | "Equal" => toleration.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    };
    pod.spec.tolerations.iter().any(matches)
}
