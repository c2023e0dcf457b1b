//! The search for the smallest sets of changes that let a pod fit a node: one change, then two, and so on.
//!
//! A state that rejects the pod has needs, and every sufficient set contains one change of each need. So the changes of one need are tried in turn,
//! each without those tried before it; needs that have no change in common require one change each, which gives a lower bound.

#[cfg(test)]
use std::collections::BTreeSet;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Profile;
use crate::cluster::{ClusterState, PodInfo, PodKey};
use crate::framework::{Fix, MOST_CHANGES, Obstacle};

use super::trial::Trial;

const MAX_SETS_REPORTED: usize = 2;

/// What is known of a set of changes.
#[derive(Clone)]
enum Known {
    /// It is sufficient; with the amounts it took.
    Enough(Vec<Fix>),
    /// What still rejects: for each need, the changes that may meet it.
    Needs(Arc<Vec<Vec<Fix>>>),
}

pub(super) struct RemedySearch<'a> {
    pod: &'a PodInfo,
    profile: &'a Profile,
    node: &'a Arc<str>,
    left: usize,
    known: HashMap<Vec<Fix>, Known>,
    ranks: HashMap<PodKey, i64>,
    /// Whether larger sets may be sufficient.
    larger: bool,
    /// Whether trials ran out.
    pub cut: bool,
    /// What no change meets, with its filter.
    pub hopeless: Vec<(&'static str, Vec<Obstacle>)>,
    /// The smallest sets with their costs, the lowest first.
    pub found: Vec<(i64, Vec<Fix>)>,
}

impl<'a> RemedySearch<'a> {
    /// Searches, with this many trials.
    pub(super) fn run(pod: &'a PodInfo, state: &mut ClusterState, profile: &'a Profile, node: &'a Arc<str>, trials: usize) -> Self {
        let mut pods: Vec<Arc<PodInfo>> = state.node(node).map(|node| node.pods.clone()).unwrap_or_default();
        // The least important pod is deleted first: the lowest priority, then the latest start.
        pods.sort_by_key(|pod| (pod.spec.priority, std::cmp::Reverse(pod.started), pod.key()));
        let ranks = pods.iter().zip(0..).map(|(pod, rank)| (pod.key(), rank)).collect();
        let (known, hopeless, found) = (HashMap::new(), Vec::new(), Vec::new());
        let mut search = Self { pod, profile, node, left: trials, known, ranks, larger: true, cut: false, hopeless, found };
        let mut size = 1;
        while search.larger && search.found.is_empty() && size <= MOST_CHANGES && !search.cut {
            search.larger = false;
            search.explore(state, &mut Vec::new(), &mut HashSet::new(), size);
            size += 1;
        }
        search.found.sort_by_key(|(cost, _)| *cost);
        search.found.truncate(MAX_SETS_REPORTED);
        for (_, fixes) in &mut search.found {
            fixes.sort_by_cached_key(|fix| fix.cost(&profile.rules.requests.incoming(pod)));
        }
        search
    }

    /// Tries sets that contain `fixes`, nothing of `excluded`, and at most `budget` more changes.
    fn explore(&mut self, state: &mut ClusterState, fixes: &mut Vec<Fix>, excluded: &mut HashSet<Fix>, budget: usize) {
        let needs = match self.look(state, fixes) {
            None => return,
            Some(Known::Enough(fixes)) => {
                self.found.push((self.cost(&fixes), fixes));
                return;
            }
            Some(Known::Needs(needs)) => needs,
        };
        let usable = |fix: &&Fix| !excluded.contains(*fix) && !fixes.contains(fix);
        let needs: Vec<Vec<&Fix>> = needs.iter().map(|need| need.iter().filter(usable).collect()).collect();
        if needs.iter().any(Vec::is_empty) {
            return;
        }
        if apart(&needs, None) > budget {
            self.larger = true;
            return;
        }
        let Some(mut first) = needs.iter().min_by_key(|need| need.len()).cloned() else { return };
        first.sort_by_key(|fix| self.cost(std::slice::from_ref(*fix)));
        let mut left_out = Vec::new();
        for fix in first {
            if apart(&needs, Some(fix)) >= budget {
                self.larger = true;
            } else if !self.is_too_dear(fixes, fix) {
                fixes.push(fix.clone());
                self.explore(state, fixes, excluded, budget - 1);
                fixes.pop();
            }
            if excluded.insert(fix.clone()) {
                left_out.push(fix);
            }
        }
        for fix in left_out {
            excluded.remove(fix);
        }
    }

    /// Whether enough sets are known that cost less than these changes and one more.
    fn is_too_dear(&self, fixes: &[Fix], more: &Fix) -> bool {
        let mut known: Vec<i64> = self.found.iter().map(|(cost, _)| *cost).collect();
        known.sort_unstable();
        let worst = known.get(MAX_SETS_REPORTED - 1);
        worst.is_some_and(|worst| self.cost(fixes) + self.cost(std::slice::from_ref(more)) >= *worst)
    }

    /// The cost of some changes; amounts that are not known yet count as nothing.
    pub(super) fn cost(&self, fixes: &[Fix]) -> i64 {
        let request = self.profile.rules.requests.incoming(self.pod);
        let rank = |fix: &Fix| match fix {
            Fix::DeletePod(pod) => self.ranks.get(pod).copied().unwrap_or(100),
            _ => 0,
        };
        fixes.iter().map(|fix| fix.cost(&request) + rank(fix)).sum()
    }

    /// Tries some changes, or returns the remembered result; `None`: no trial is left.
    fn look(&mut self, state: &mut ClusterState, fixes: &[Fix]) -> Option<Known> {
        let mut key = fixes.to_vec();
        key.sort_unstable();
        if let Some(known) = self.known.get(&key) {
            return Some(known.clone());
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.cut = true;
            return None;
        };
        self.left = left;
        let trial = Trial::with(self.pod, state, self.profile, fixes, self.node);
        let needs = trial.needs(self.profile, self.node);
        let known = if needs.is_empty() {
            Known::Enough(trial.fixes.clone())
        } else {
            Known::Needs(Arc::new(needs.iter().map(|of| of.need.options.clone()).collect()))
        };
        if fixes.is_empty() {
            self.hopeless = needs.into_iter().filter(|of| of.need.options.is_empty()).map(|of| (of.plugin, of.need.obstacles)).collect();
        }
        drop(trial);
        self.known.insert(key, known.clone());
        Some(known)
    }

    #[cfg(test)]
    pub(super) fn considered(&self) -> Vec<Fix> {
        let needs = self.known.values().filter_map(|known| match known {
            Known::Needs(needs) => Some(needs.iter().flatten().cloned()),
            Known::Enough(_) => None,
        });
        needs.flatten().collect::<BTreeSet<Fix>>().into_iter().collect()
    }
}

/// How many needs, apart from those that `made` meets, have no change in common: a lower bound on the number of changes.
fn apart(needs: &[Vec<&Fix>], made: Option<&Fix>) -> usize {
    let open = needs.iter().filter(|need| made.is_none_or(|made| !need.contains(&made)));
    let mut open: Vec<_> = open.collect();
    open.sort_by_key(|need| need.len());
    let mut taken: HashSet<&Fix> = HashSet::new();
    let mut count = 0;
    for need in open {
        if need.iter().all(|fix| !taken.contains(fix)) {
            taken.extend(need);
            count += 1;
        }
    }
    count
}
