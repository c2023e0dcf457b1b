//! The search for the smallest sets of changes that let a pod fit a node: one change, then two, and so on.
//!
//! A state that refuses the pod has needs, and every set that is enough contains one change of each need. So the changes of one need are
//! tried in turn, the others of it then left out; needs that have no change in common want one each, which tells how many are wanted at least.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Profile;
use crate::cluster::{ClusterState, PodInfo, PodKey};

use super::fix::Fix;
use super::needs::Need;
use super::trial::Trial;

/// A node that needs more changes than this is left alone.
pub(super) const CHANGES: usize = 6;
/// So many sets are told of a node.
const TOLD: usize = 2;

/// What is known of a set of changes.
#[derive(Clone)]
enum Known {
    /// It is enough; with the amounts it took.
    Enough(Vec<Fix>),
    /// What still refuses; each change by its id.
    Needs(Arc<Vec<Vec<(String, Fix)>>>),
}

/// The search on one node.
pub(super) struct Search<'a> {
    pod: &'a PodInfo,
    profile: &'a Profile,
    node: &'a Arc<str>,
    /// How many trials are left.
    left: usize,
    known: HashMap<Vec<String>, Known>,
    ranks: HashMap<PodKey, i64>,
    /// Whether larger sets may be enough.
    larger: bool,
    /// Whether trials ran out.
    pub cut: bool,
    /// What no change meets, with its filter.
    pub hopeless: Vec<(&'static str, String)>,
    /// The smallest sets with what they ask for, the least first.
    pub found: Vec<(i64, Vec<Fix>)>,
}

impl<'a> Search<'a> {
    /// Searches with so many trials.
    pub(super) fn run(pod: &'a PodInfo, state: &mut ClusterState, profile: &'a Profile, node: &'a Arc<str>, trials: usize) -> Self {
        let mut pods: Vec<Arc<PodInfo>> = state.node(node).map(|node| node.pods.clone()).unwrap_or_default();
        // Of pods to delete the one that matters least comes first: the lowest priority, then the latest start.
        pods.sort_by_key(|pod| (pod.spec.priority, std::cmp::Reverse(pod.started), pod.key()));
        let ranks = pods.iter().zip(0..).map(|(pod, rank)| (pod.key(), rank)).collect();
        let (known, hopeless, found) = (HashMap::new(), Vec::new(), Vec::new());
        let mut search = Self { pod, profile, node, left: trials, known, ranks, larger: true, cut: false, hopeless, found };
        let mut size = 1;
        while search.larger && search.found.is_empty() && size <= CHANGES && !search.cut {
            search.larger = false;
            search.explore(state, &mut Vec::new(), &mut HashSet::new(), size);
            size += 1;
        }
        search.found.sort_by_key(|(cost, _)| *cost);
        search.found.truncate(TOLD);
        for (_, fixes) in &mut search.found {
            fixes.sort_by_cached_key(|fix| fix.cost(&profile.rules.requests.incoming(pod)));
        }
        search
    }

    /// Tries sets that contain `fixes`, nothing of `excluded`, and at most `budget` changes more.
    fn explore(&mut self, state: &mut ClusterState, fixes: &mut Vec<Fix>, excluded: &mut HashSet<String>, budget: usize) {
        let needs = match self.look(state, fixes) {
            None => return,
            Some(Known::Enough(fixes)) => {
                self.found.push((self.cost(&fixes), fixes));
                return;
            }
            Some(Known::Needs(needs)) => needs,
        };
        let made: HashSet<String> = fixes.iter().map(Fix::id).collect();
        let usable = |id: &String| !excluded.contains(id) && !made.contains(id);
        let needs: Vec<Vec<(&String, &Fix)>> =
            needs.iter().map(|need| need.iter().filter(|(id, _)| usable(id)).map(|(id, fix)| (id, fix)).collect()).collect();
        if needs.iter().any(Vec::is_empty) {
            return;
        }
        if apart(&needs, None) > budget {
            self.larger = true;
            return;
        }
        let Some(mut first) = needs.iter().min_by_key(|need| need.len()).cloned() else { return };
        first.sort_by_key(|(_, fix)| self.cost(std::slice::from_ref(*fix)));
        let mut left_out = Vec::new();
        for (id, fix) in first {
            if apart(&needs, Some(id)) >= budget {
                self.larger = true;
            } else if !self.is_too_dear(fixes, fix) {
                fixes.push(fix.clone());
                self.explore(state, fixes, excluded, budget - 1);
                fixes.pop();
            }
            if excluded.insert(id.clone()) {
                left_out.push(id.clone());
            }
        }
        for id in left_out {
            excluded.remove(&id);
        }
    }

    /// Whether enough sets are known that ask for less than these changes and one more do at least.
    fn is_too_dear(&self, fixes: &[Fix], more: &Fix) -> bool {
        let mut known: Vec<i64> = self.found.iter().map(|(cost, _)| *cost).collect();
        known.sort_unstable();
        let worst = known.get(TOLD - 1);
        worst.is_some_and(|worst| self.cost(fixes) + self.cost(std::slice::from_ref(more)) >= *worst)
    }

    /// What some changes ask for; amounts that are not settled count as nothing.
    pub(super) fn cost(&self, fixes: &[Fix]) -> i64 {
        let request = self.profile.rules.requests.incoming(self.pod);
        let rank = |fix: &Fix| match fix {
            Fix::Delete(pod) => self.ranks.get(&pod.key()).copied().unwrap_or(100),
            _ => 0,
        };
        fixes.iter().map(|fix| fix.cost(&request) + rank(fix)).sum()
    }

    /// Tries some changes, or remembers what came of them; `None`: no trial is left.
    fn look(&mut self, state: &mut ClusterState, fixes: &[Fix]) -> Option<Known> {
        let mut key: Vec<String> = fixes.iter().map(Fix::id).collect();
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
        let known = if needs.is_empty() { Known::Enough(trial.fixes.clone()) } else { Known::Needs(Arc::new(listed(&needs))) };
        if fixes.is_empty() {
            self.hopeless = needs.iter().filter(|need| need.options.is_empty()).map(|need| (need.plugin, need.why.clone())).collect();
        }
        drop(trial);
        self.known.insert(key, known.clone());
        Some(known)
    }

    /// Every change that was thought of.
    #[cfg(test)]
    pub(super) fn thought_of(&self) -> Vec<Fix> {
        let mut all: Vec<(String, Fix)> = Vec::new();
        let known = self.known.values().filter_map(|known| match known {
            Known::Needs(needs) => Some(needs.iter().flatten().cloned()),
            Known::Enough(_) => None,
        });
        all.extend(known.flatten());
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|a, b| a.0 == b.0);
        all.into_iter().map(|(_, fix)| fix).collect()
    }
}

fn listed(needs: &[Need]) -> Vec<Vec<(String, Fix)>> {
    needs.iter().map(|need| need.options.iter().map(|fix| (fix.id(), fix.clone())).collect()).collect()
}

/// How many needs, apart from those that `made` meets, have no change in common: so many changes are wanted at least.
fn apart(needs: &[Vec<(&String, &Fix)>], made: Option<&String>) -> usize {
    let open = needs.iter().filter(|need| made.is_none_or(|made| !need.iter().any(|(id, _)| *id == made)));
    let mut open: Vec<_> = open.collect();
    open.sort_by_key(|need| need.len());
    let mut taken: HashSet<&String> = HashSet::new();
    let mut count = 0;
    for need in open {
        if need.iter().all(|(id, _)| !taken.contains(id)) {
            taken.extend(need.iter().map(|(id, _)| *id));
            count += 1;
        }
    }
    count
}
