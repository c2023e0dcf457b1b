//! EqualPriority: the same for every node.
//! Source: `core/generic_scheduler.go` EqualPriorityMap.

use crate::{Cycle, Feasible, Plugin, PreScore};

pub(super) struct Equal;

impl Plugin for Equal {
    fn name(&self) -> &'static str {
        "EqualPriority"
    }

    fn doc(&self) -> &'static str {
        "The same for every node.

Checks
  Nothing: every node gets 1.
Reads
  nothing
History
  1.9–1.16; what runs where a Policy leaves no priority and no extender
Differs from upstream
  nowhere"
    }

    fn looks_at_pods(&self) -> bool {
        false
    }

    fn score<'a>(&self, _cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        PreScore::plain(|_| 1)
    }
}
