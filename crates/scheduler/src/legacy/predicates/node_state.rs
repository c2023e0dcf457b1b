//! CheckNodeUnschedulable, PodToleratesNodeTaints and PodToleratesNodeNoExecuteTaints: what the node's spec keeps away.
//! Source: `algorithm/predicates/predicates.go`.

use crate::cluster::{PodInfo, Taint, Toleration};

use super::{pages, prefilter};
use crate::framework::{Fact, Need};
use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::Reason;
use crate::plugins::taint_toleration;
use crate::{Candidate, Cycle, Plugin, PreFilter, Verdict};

/// CheckNodeUnschedulable.
pub(super) fn check_node_unschedulable<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    let taint = Taint { key: "node.kubernetes.io/unschedulable".into(), value: "".into(), effect: "NoSchedule".into() };
    let tolerated = cycle.profile.rules.cordons_can_be_tolerated() && tolerates(cycle.pod, &taint);
    Box::new(move |candidate| Ok(if candidate.unschedulable && !tolerated { vec![Reason::NodeUnschedulable] } else { Vec::new() }))
}

/// PodToleratesNodeTaints.
pub(super) fn pod_tolerates_node_taints<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    tolerates_all(cycle, &["NoSchedule", "NoExecute"])
}

/// PodToleratesNodeNoExecuteTaints.
pub(super) struct PodToleratesNodeNoExecuteTaints;

impl Plugin for PodToleratesNodeNoExecuteTaints {
    fn name(&self) -> &'static str {
        "PodToleratesNodeNoExecuteTaints"
    }

    fn doc(&self) -> &'static str {
        pages::POD_TOLERATES_NODE_NO_EXECUTE_TAINTS
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        prefilter(cycle, tolerates_all(cycle, &["NoExecute"]))
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        taint_toleration::taints(cycle, node, &["NoExecute"])
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        taint_toleration::needs(cycle, node, &["NoExecute"])
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

fn tolerates_all<'a>(cycle: &'a Cycle<'a>, effects: &'static [&'static str]) -> PreparedPredicate<'a> {
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
