//! TaintToleration: a tainted node takes only pods that tolerate its taints, and prefers those that tolerate the soft ones.

use crate::cluster::{NodeInfo, Taint, Toleration};
use crate::framework::WithoutState;
use crate::framework::{Candidate, ChangeOf, Fact, Fix, Need, NodeCheck, Obstacle};
use crate::release::Rules;
use crate::{Cycle, Feasible, Plugin, PreFilter, PreScore, Verdict};

/// Upstream: `plugins/tainttoleration/taint_toleration.go`; up to 1.16 PodToleratesNodeTaints and TaintTolerationPriority.
pub(crate) struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn doc(&self) -> &'static str {
        "A tainted node takes only pods that tolerate its taints; soft taints cost points.

Checks
  Each taint of effect NoSchedule or NoExecute is tolerated; the first that is not, in the node's order, is named.
  Score: PreferNoSchedule taints that the pod does not tolerate, the fewer the better.
Reads
  node spec.taints; pod spec.tolerations
History
  1.18–1.23 node(s) had taint {key: value}, that the pod didn't tolerate
  1.24–1.33 node(s) had untolerated taint {key: value} (1.34.0 and 1.34.1 too)
  1.34.2–   node(s) had untolerated taint(s); since 1.35 operators Lt and Gt with TaintTolerationComparisonOperators
  weight 1 up to 1.22, then 3; preemption cannot help
Differs from upstream
  nowhere"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        let comparisons = rules.taint_comparisons;
        let tolerations = &cycle.pod.spec.tolerations;
        PreFilter::Filter(Box::new(move |node| match untolerated(&node.taints, tolerations, comparisons) {
            None => Verdict::Pass,
            Some(taint) => Verdict::unresolvable(rules.untolerated(&taint.key, &taint.value)),
        }))
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let comparisons = cycle.profile.rules.taint_comparisons;
        let soft: Vec<&Toleration> =
            cycle.pod.spec.tolerations.iter().filter(|toleration| matches!(&*toleration.effect, "" | "PreferNoSchedule")).collect();
        let intolerable = move |node: &NodeInfo| {
            let taints = node.taints.iter().filter(|taint| &*taint.effect == "PreferNoSchedule");
            let count = taints.filter(|taint| !soft.iter().any(|toleration| tolerates(toleration, taint, comparisons))).count();
            i64::try_from(count).unwrap_or(i64::MAX)
        };
        PreScore::scaled(intolerable, true)
    }

    fn without_prescore(&self, rules: &Rules) -> WithoutState {
        WithoutState::fails(rules.reading_scores(), "PreScore", self.name())
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        taints(cycle, node, &["NoSchedule", "NoExecute"])
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs(cycle, node, &["NoSchedule", "NoExecute"])
    }

    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Node
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}

/// The first taint that keeps a pod off a node.
pub(crate) fn untolerated<'t>(taints: &'t [Taint], tolerations: &[Toleration], comparisons: bool) -> Option<&'t Taint> {
    taints
        .iter()
        .filter(|taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute"))
        .find(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint, comparisons)))
}

/// Whether all taints are tolerated, those too that only cost points.
pub(crate) fn tolerates_all(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    taints.iter().all(|taint| tolerations.iter().any(|toleration| tolerates(toleration, taint, false)))
}

/// Whether a toleration covers a taint. `comparisons`: whether the operators Lt and Gt are known.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint, comparisons: bool) -> bool {
    if !(toleration.effect.is_empty() || toleration.effect == taint.effect) || !(toleration.key.is_empty() || toleration.key == taint.key) {
        return false;
    }
    match &*toleration.operator {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        operator @ ("Lt" | "Gt") if comparisons => match (toleration.value.parse::<i64>(), taint.value.parse::<i64>()) {
            (Ok(bound), Ok(value)) => {
                if operator == "Lt" {
                    value < bound
                } else {
                    value > bound
                }
            }
            _ => false,
        },
        _ => false,
    }
}

/// Each taint of these effects, and what tolerates it.
pub(crate) fn taints(cycle: &Cycle, node: &Candidate, effects: &'static [&'static str]) -> Vec<Fact> {
    let comparisons = cycle.profile.rules.taint_comparisons;
    let of_taint = |taint: &Taint| {
        let toleration = cycle.pod.spec.tolerations.iter().find(|toleration| tolerates(toleration, taint, comparisons)).cloned();
        Fact::new(toleration.is_some(), NodeCheck::Taint { taint: taint.clone(), toleration })
    };
    let facts: Vec<Fact> = node.taints.iter().filter(|taint| effects.contains(&&*taint.effect)).map(of_taint).collect();
    if facts.is_empty() { vec![Fact::holding(NodeCheck::NoTaints { effects })] } else { facts }
}

/// Taints that people set are tolerated or taken off; those that report an unhealthy node stay.
pub(crate) fn needs(cycle: &Cycle<'_>, node: &Candidate, effects: &[&str]) -> Vec<Need> {
    let comparisons = cycle.profile.rules.taint_comparisons;
    let tolerated = |taint: &Taint| cycle.pod.spec.tolerations.iter().any(|toleration| tolerates(toleration, taint, comparisons));
    let open = node.taints.iter().filter(|taint| effects.contains(&&*taint.effect) && !tolerated(taint));
    let need = |taint: &Taint| match &*taint.key {
        "node.kubernetes.io/unschedulable" => Need::one_of(vec![Fix::Uncordon]),
        key if key.starts_with("node.kubernetes.io/") || key.starts_with("node.cloudprovider.kubernetes.io/") => {
            Need::hopeless(Obstacle::UnhealthyTaint { key: taint.key.clone(), effect: taint.effect.clone() })
        }
        _ => Need::one_of(vec![Fix::Tolerate(taint.clone()), Fix::RemoveTaint(taint.clone())]),
    };
    open.map(need).collect()
}
