//! NodeName: a pod that names a node fits only that node.

use std::collections::BTreeSet;

use crate::framework::{Candidate, Fact, Need, NodeCheck, Obstacle};
use crate::{Cycle, Filter, Plugin, PreFilter, Verdict};

/// Upstream: `plugins/nodename/node_name.go`; up to 1.16 the predicate HostName.
pub(super) struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    fn doc(&self) -> &'static str {
        "A pod that names a node fits only that node.

Checks
  spec.nodeName of the pod is empty or is the node's name. A pod that waits for a node has none, so it passes everywhere.
Reads
  pod spec.nodeName; node metadata.name
History
  1.18–1.20 node(s) didn't match the requested hostname
  1.21–     node(s) didn't match the requested node name
  1.37–     only the node named is looked at (PreFilter)
Differs from upstream
  A bound pod is evaluated as it was before it was bound, without its node."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        let reason = rules.other_node_named();
        let wanted = cycle.pod.node_name.as_ref();
        let filter: Filter<'a> = Box::new(move |node| match wanted {
            Some(wanted) if *wanted != node.name => Verdict::unresolvable(reason),
            _ => Verdict::Pass,
        });
        match wanted {
            Some(wanted) if rules.node_name_narrows() => PreFilter::Narrow(BTreeSet::from([wanted.clone()]), filter),
            _ => PreFilter::Filter(filter),
        }
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        let wanted = cycle.pod.node_name.clone();
        vec![Fact::new(wanted.as_ref().is_none_or(|wanted| *wanted == node.name), NodeCheck::Name(wanted))]
    }

    fn needs_of_unnamed(&self, _cycle: &Cycle) -> Vec<Need> {
        vec![Need::hopeless(Obstacle::OtherNodeNamed)]
    }

    fn looks_at_pods(&self) -> bool {
        false
    }
}
