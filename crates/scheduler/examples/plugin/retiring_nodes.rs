//! RetiringNodes: a node with the label `example.com/retiring` takes no new pods. Whole in this file: what it checks, compares and needs.

use ketcd_scheduler::cluster::{Operator, Requirement};
use ketcd_scheduler::{Candidate, Cycle, Fact, Fix, Need, Plugin, PreFilter, Verdict};

/// The label that keeps pods off a node, whatever its value.
const RETIRING_LABEL: &str = "example.com/retiring";

/// The plugin.
pub(crate) struct RetiringNodes;

impl Plugin for RetiringNodes {
    fn name(&self) -> &'static str {
        "RetiringNodes"
    }

    fn doc(&self) -> &'static str {
        "A node that is to be retired takes no new pods.

Checks
  The node has no label example.com/retiring.
Reads
  node labels
History
  node(s) were retiring; preemption cannot help
Differs from upstream
  Upstream has no such plugin."
    }

    fn filter<'a>(&self, _cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        PreFilter::Filter(Box::new(|node| {
            if node.labels.has(RETIRING_LABEL) { Verdict::unresolvable("node(s) were retiring") } else { Verdict::Pass }
        }))
    }

    fn compared(&self, _cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        let absent = Requirement { key: RETIRING_LABEL.into(), operator: Operator::DoesNotExist, values: Vec::new() };
        vec![Fact::label(absent, &node.labels)]
    }

    fn needs(&self, _cycle: &Cycle, _node: &Candidate) -> Vec<Need> {
        vec![Need::one_of(vec![Fix::RemoveLabel { key: RETIRING_LABEL.into() }])]
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}
