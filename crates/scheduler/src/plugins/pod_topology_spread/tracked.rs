//! The counts of the constraints that must hold as preemption for a group keeps them since 1.37: brought up to date pod by pod.
//! Upstream: `plugins/podtopologyspread/filtering.go` preFilterState. It remembers two of the emptiest domains, which is enough while pods of one
//! node come and go; here they are of many, and what it takes for the least may be more. Terminating pods count once they are put back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cluster::{NodeInfo, PodInfo};
use crate::framework::PreFilterExtensions;
use crate::{Candidate, Cycle, Verdict};

use super::filter::{Counted, MISSING_LABEL, NO_DOMAIN, SKEW_REASON};
use super::has_all_keys;

/// More pairs of equally empty domains than this are not distinguished.
const MAX_TRACKED_PAIRS: usize = 256;

/// The constraints of one pod, counted.
pub(super) struct Tracked {
    counted: Counted,
    /// For each constraint the pairs it may remember: which of equals it took first is chance.
    pairs: Vec<Vec<Pair>>,
    /// Constraints with more pairs than are distinguished.
    too_many: Vec<bool>,
    drawn: AtomicBool,
}

/// Two domains with what they count, the emptier first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Pair([(Arc<str>, i64); 2]);

impl Pair {
    /// `criticalPaths.update`.
    fn update(&mut self, value: &Arc<str>, count: i64) {
        let Self(pair) = self;
        if let Some(known) = pair.iter_mut().find(|(known, _)| known == value) {
            known.1 = count;
            if pair[0].1 > pair[1].1 {
                pair.swap(0, 1);
            }
        } else if count < pair[0].1 {
            pair.swap(0, 1);
            pair[0] = (value.clone(), count);
        } else if count < pair[1].1 {
            pair[1] = (value.clone(), count);
        }
    }
}

/// The pairs that may come of these counts, taken in any order, and whether there are more.
fn pairs(counts: &HashMap<Arc<str>, i64>) -> (Vec<Pair>, bool) {
    let nothing = || (Arc::from(""), NO_DOMAIN);
    let mut sorted: Vec<(Arc<str>, i64)> = counts.iter().map(|(value, count)| (value.clone(), *count)).collect();
    sorted.sort_by(|(value, count), (other, more)| (count, value).cmp(&(more, other)));
    sorted.resize_with(sorted.len().max(2), nothing);
    let sorted = &sorted;
    let of = |rank: usize| sorted.iter().enumerate().filter(move |(_, (_, count))| *count == sorted[rank].1);
    let all = of(0)
        .flat_map(|(at, first)| of(1).filter(move |(other, _)| *other != at).map(move |(_, second)| Pair([first.clone(), second.clone()])));
    let mut found: Vec<Pair> = all.take(MAX_TRACKED_PAIRS + 1).collect();
    let more = found.len() > MAX_TRACKED_PAIRS;
    found.truncate(MAX_TRACKED_PAIRS);
    (found, more)
}

impl Tracked {
    /// The constraints as a pod's PreFilter counts them; `None` if there is none.
    pub(super) fn new(cycle: &Cycle) -> Option<Self> {
        let counted = Counted::new(cycle)?;
        let (pairs, too_many) = counted.domains.iter().map(|domains| pairs(&domains.counts)).unzip();
        Some(Self { counted, pairs, too_many, drawn: AtomicBool::new(false) })
    }
}

impl PreFilterExtensions for Tracked {
    /// `updateWithPod`.
    fn moved(&mut self, pod: &PodInfo, node: &NodeInfo, delta: i64, cycle: &Cycle) {
        if pod.namespace != cycle.pod.namespace || !has_all_keys(node, &self.counted.constraints) {
            return;
        }
        for (at, constraint) in self.counted.constraints.iter().enumerate() {
            let Some(value) =
                node.labels.shared(&constraint.key).filter(|_| constraint.matches(&pod.labels) && constraint.includes(node, cycle))
            else {
                continue;
            };
            let count = self.counted.domains[at].counts.entry(value.clone()).or_insert(0);
            *count += delta;
            self.pairs[at].iter_mut().for_each(|pair| pair.update(value, *count));
            self.pairs[at].sort_unstable();
            self.pairs[at].dedup();
        }
    }

    fn is_drawn(&self) -> bool {
        self.drawn.load(Ordering::Relaxed)
    }

    fn filter(&self, node: &Candidate, cycle: &Cycle) -> Verdict {
        let constraints = &self.counted.constraints;
        for (at, constraint) in constraints.iter().enumerate() {
            let Some(value) = node.labels.shared(&constraint.key) else { return Verdict::unresolvable(MISSING_LABEL) };
            let counts = &self.counted.domains[at].counts;
            let nominated = |pod: &&Arc<PodInfo>| pod.namespace == cycle.pod.namespace && constraint.matches(&pod.labels);
            let counts_here = has_all_keys(node, constraints) && constraint.includes(node, cycle);
            let added = if counts_here { node.added.iter().filter(nominated).count() as i64 } else { 0 };
            let count = counts.get(value).copied().unwrap_or(0) + added;
            let few = (counts.len() as i64) < constraint.min_domains;
            let holds = |least: i64| count + self.counted.own[at] - if few { 0 } else { least } <= constraint.max_skew;
            let least = |pair: &Pair| {
                let mut pair = pair.clone();
                if added > 0 {
                    pair.update(value, count);
                }
                pair.0[0].1
            };
            let mut answers = self.pairs[at].iter().map(|pair| holds(least(pair)));
            let first = answers.next().unwrap_or(true);
            let (lowest, highest) = (counts.values().min().copied().unwrap_or(0), counts.values().max().copied().unwrap_or(0));
            if answers.any(|answer| answer != first) || self.too_many[at] && holds(lowest) != holds(highest) {
                self.drawn.store(true, Ordering::Relaxed);
            }
            if !first {
                return Verdict::unschedulable(SKEW_REASON);
            }
        }
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: (&str, i64), second: (&str, i64)) -> Pair {
        Pair([(first.0.into(), first.1), (second.0.into(), second.1)])
    }

    #[test]
    fn what_is_remembered_may_come_to_be_more_than_the_least() {
        let mut remembered = pair(("a", 0), ("b", 1));
        for (value, count) in [("a", 1), ("a", 2), ("b", 2)] {
            remembered.update(&value.into(), count);
        }
        assert_eq!(remembered.0[0].1, 2, "c, which counts 1, was never met again");
        remembered.update(&"c".into(), 1);
        assert!(remembered == pair(("c", 1), ("b", 2)));
    }

    #[test]
    fn equals_may_be_met_in_any_order() {
        let counts = |counts: &[(&str, i64)]| counts.iter().map(|(value, count)| (Arc::from(*value), *count)).collect::<HashMap<_, _>>();
        assert_eq!(pairs(&counts(&[("a", 0), ("b", 0), ("c", 0)])).0.len(), 6);
        assert!(pairs(&counts(&[("a", 0), ("b", 1), ("c", 2)])) == (vec![pair(("a", 0), ("b", 1))], false));
        assert!(pairs(&counts(&[("a", 3)])) == (vec![pair(("a", 3), ("", NO_DOMAIN))], false));
        assert!(pairs(&counts(&[])).0.iter().all(|one| *one == pair(("", NO_DOMAIN), ("", NO_DOMAIN))));
    }
}
