//! NodeUnschedulable: a cordoned node takes only pods that tolerate it.

use std::sync::LazyLock;

use crate::cluster::Taint;
use crate::framework::{Candidate, ChangeOf, Fact, Fix, Need, NodeCheck};
use crate::{Cycle, Plugin, PreFilter, Verdict};

use super::tolerates;

/// Upstream: `plugins/nodeunschedulable/node_unschedulable.go`; up to 1.16 the predicate CheckNodeUnschedulable.
pub(super) struct NodeUnschedulable;

pub(crate) static CORDON_TAINT: LazyLock<Taint> =
    LazyLock::new(|| Taint { key: "node.kubernetes.io/unschedulable".into(), value: "".into(), effect: "NoSchedule".into() });

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn doc(&self) -> &'static str {
        "A cordoned node takes only pods that tolerate it.

Checks
  spec.unschedulable is not set, or the pod tolerates the taint node.kubernetes.io/unschedulable:NoSchedule.
  The field counts, not the taint of that name: TaintToleration looks at that one.
Reads
  node spec.unschedulable; pod spec.tolerations
History
  1.18– node(s) were unschedulable; preemption cannot help
Differs from upstream
  nowhere"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let comparisons = cycle.profile.rules.taint_comparisons;
        let tolerated = cycle.pod.spec.tolerations.iter().any(|toleration| tolerates(toleration, &CORDON_TAINT, comparisons));
        PreFilter::Filter(Box::new(move |node| {
            if node.unschedulable && !tolerated { Verdict::unresolvable("node(s) were unschedulable") } else { Verdict::Pass }
        }))
    }

    fn compared(&self, _cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
        vec![Fact::new(!node.unschedulable || verdict.passes(), NodeCheck::Unschedulable(node.unschedulable))]
    }

    fn needs(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<Need> {
        vec![Need::one_of(vec![Fix::Uncordon])]
    }

    fn is_met_by(&self) -> ChangeOf {
        ChangeOf::Node
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}
