//! PrioritySort: who is tried first. Its page; in which order attempts came is read from the history.

use crate::Plugin;

/// Upstream: `plugins/queuesort/priority_sort.go`.
pub(super) struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        "PrioritySort"
    }

    fn doc(&self) -> &'static str {
        "The waiting pod with the highest priority is tried first.

Checks
  QueueSort: the higher priority comes first, then who entered the queue earlier.
Reads
  pod spec.priority (0 where absent)
History
  1.9–1.10  first come, first served, unless the gate PodPriority is on
  1.11–     by priority; a plugin since 1.17
  1.37      groups of pods stand in the queue as one, by the group's priority
Differs from upstream
  The queue is not in etcd: attempts are taken in the order they were recorded. Who else of a group was tried is inferred (see GangScheduling)."
    }
}
