//! DefaultPreemption: what follows where no node fits. Its page; `preemption/` holds the rules, `groups/preemption.rs` those for groups of pods.

use crate::framework::{Cycle, Judgement, Plugin, PostFilter};

/// Upstream: `plugins/defaultpreemption/default_preemption.go`, `framework/preemption/preemption.go`.
pub(super) struct DefaultPreemption;

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        "DefaultPreemption"
    }

    fn doc(&self) -> &'static str {
        "Where no node fits, pods of lower priority are evicted from one to make room.

Checks
  PostFilter: a pod whose preemptionPolicy is not Never, and none of whose victims is still going on the node it is nominated to. Of nodes
  whose refusal leaves hope (`Unschedulable`, not `UnschedulableAndUnresolvable`) all lower pods are taken off; where the pod then fits, they
  are let stay one by one as far as it still does, those whose disruption budget would be violated first, then the more important: higher
  priority, longer running. The node is picked by the fewest budgets violated, the lowest priority of its first victim, the smallest sum of
  priorities, the fewest victims, the latest start; what is still equal is drawn by chance. The pod is nominated there, not bound.
  PodGroupPostFilter (1.37): the same for a whole group of pods, off the whole cluster.
Reads
  priorities, start times and labels of pods; PodDisruptionBudgets and what they allow; pods nominated to nodes
History
  1.11–1.18 part of the scheduler itself; 1.19– a plugin
  1.15      of nodes that rank equal, the one whose victims started latest; up to 1.14 chance decides
  1.18      budgets are used up from victim to victim
  1.20      of many candidates it is content with a tenth of the nodes, at least 100, from a start drawn by chance (arguments)
  1.21      a node without lower pods is no candidate
  1.37      with the gate GenericWorkload pods of a group that is disrupted as a whole go together, wherever they run, at the group's priority;
            what is found is shown: the node and the number of victims
Differs from upstream
  Where candidates are more than upstream keeps, a caveat says that it may have picked another. Which of several equals goes depends on
  orders that are not in etcd: that is said. PreEnqueue (1.32–), which holds a pod back while its victims are being evicted, leaves no trace."
    }

    /// The rules are those of `preemption/`, which runs the filters again.
    fn post_filter(&self, _cycle: &Cycle, _judgement: &Judgement) -> PostFilter {
        PostFilter::Preempts
    }
}
