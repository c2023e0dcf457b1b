//! The placements (sets of nodes) a group is tried on, and which of them is chosen.
//! Sources: `podGroupSchedulingPlacementAlgorithm`, `compositePodGroupSchedulingPlacementAlgorithm` of `schedule_one_podgroup.go`,
//! `plugins/topologyaware/topology_placement.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo};
use crate::plugins::{placement_fill, placement_pods};
use crate::pod_groups::{MAX_DEPTH, placed};

use super::attempt::{GroupAttempt, PodAttempt};
use super::status::Status;
use super::{Group, Mode, ParentScope};

/// A set of nodes.
pub(crate) struct Placement {
    /// The label's value; `None`: all nodes.
    pub name: Option<Arc<str>>,
    /// The nodes; `None`: all.
    pub nodes: Option<BTreeSet<Arc<str>>>,
}

pub(crate) struct PodGroupAlgorithmResult {
    /// Each placement with its attempt, by name.
    pub tries: Vec<(Placement, GroupAttempt)>,
    /// The placement whose pods are reported.
    pub chosen: Option<usize>,
    /// The placements it was drawn from at random, itself included, if there are several.
    pub drawn: Vec<usize>,
    /// Scores of the placements that fit, where several do: plugin, raw score, normalised score, weight.
    pub scores: BTreeMap<usize, Vec<(&'static str, i64, i64, i64)>>,
    /// The group's status.
    pub status: Status,
    /// Whether the group fits once victims are evicted.
    pub waits: bool,
}

impl Group<'_> {
    /// Runs the algorithm on the root group. A group none of whose pods found a node does not fit, even if other pods of it are bound
    /// (`runRootSchedulingAlgorithm`, 1.37).
    pub(crate) fn run(&self, state: &mut ClusterState, mode: Mode) -> PodGroupAlgorithmResult {
        let outcome = self.run_within(state, &ParentScope::default(), mode);
        let empty = outcome.status == Status::Success && outcome.kept().is_empty();
        if empty { PodGroupAlgorithmResult { status: Status::marked(&[]), ..outcome } } else { outcome }
    }

    /// Tries the group on each placement in turn and chooses the best.
    pub(crate) fn run_within(&self, state: &mut ClusterState, around: &ParentScope, mode: Mode) -> PodGroupAlgorithmResult {
        let placements = match self.placements(state, around) {
            Ok(placements) => placements,
            Err(status) => return PodGroupAlgorithmResult::failed(status),
        };
        let mut outcome = PodGroupAlgorithmResult::failed(Status::Success);
        for placement in placements {
            let tried = self.try_on(state, &ParentScope { within: placement.nodes.clone(), ..around.clone() }, mode);
            let failed = matches!(tried.status, Status::Error(_));
            outcome.tries.push((placement, tried));
            if failed {
                let at = outcome.tries.len() - 1;
                return PodGroupAlgorithmResult { chosen: Some(at), ..outcome.reported(at) };
            }
        }
        let fitting: Vec<usize> = (0..outcome.tries.len()).filter(|at| outcome.tries[*at].1.feasible()).collect();
        if fitting.is_empty() {
            return self.none_fits(outcome);
        }
        let scored = if fitting.len() > 1 { self.score(state, &fitting, &mut outcome) } else { Ok(()) };
        if let Err(error) = scored {
            return PodGroupAlgorithmResult { status: Status::Error(error), chosen: None, ..outcome };
        }
        let total = |at: &usize| outcome.scores.get(at).map_or(0, |scores| scores.iter().map(|score| score.2 * score.3).sum::<i64>());
        let top = fitting.iter().map(total).max();
        let best: Vec<usize> = fitting.into_iter().filter(|at| Some(total(at)) == top).collect();
        let chosen = best.iter().copied().find(|at| self.is_known(&outcome.tries[*at].0)).unwrap_or(best[0]);
        outcome.drawn = if best.len() > 1 { best } else { Vec::new() };
        outcome.reported(chosen)
    }

    /// Whether pods of the queue are known to have been bound to these nodes.
    fn is_known(&self, placement: &Placement) -> bool {
        let nodes = placement.nodes.as_ref();
        self.pods().filter_map(|pod| self.known.nodes.get(&pod.key())).any(|node| nodes.is_none_or(|nodes| nodes.contains(node)))
    }

    /// No placement fits: one is reported, which upstream picks at random. Here it is the first by name, unless a pod is known to be elsewhere.
    fn none_fits(&self, mut outcome: PodGroupAlgorithmResult) -> PodGroupAlgorithmResult {
        if outcome.tries.len() > 1 {
            outcome.drawn = (0..outcome.tries.len()).collect();
        }
        let mut outcome = outcome.reported(0);
        if self.by_topology() {
            outcome.status = self.none_available(outcome.tries.len(), &outcome.status);
        }
        outcome
    }

    /// The group's status where no placement fits and `first` is the status of the first to be reported.
    pub(crate) fn none_available(&self, placements: usize, first: &Status) -> Status {
        let reason = format!("0/{placements} placements are available, first placement status: {}", first.as_error());
        if self.newer() { Status::marked(&[&reason]) } else { Status::plain(reason) }
    }

    /// `GeneratePlacements`: all nodes where the group has no constraint, else the nodes with one value of its label.
    fn placements(&self, state: &ClusterState, around: &ParentScope) -> Result<Vec<Placement>, Status> {
        let all = || Ok(vec![Placement { name: None, nodes: around.within.clone() }]);
        if !self.by_topology() || !self.profile.generates_placements {
            return all();
        }
        if !self.newer() && !self.exists {
            return Err(Status::Error(format!("podgroup.scheduling.k8s.io \"{}\" not found", self.id.name)));
        }
        let Some(key) = self.spec.topology_key() else { return all() };
        if let Some(error) = self.too_deep() {
            return Err(Status::Error(error));
        }
        let required = self.domain_of_placed(state, key).map_err(Status::Error)?;
        let mut domains: BTreeMap<Arc<str>, BTreeSet<Arc<str>>> = BTreeMap::new();
        let inside = |name: &Arc<str>| around.within.as_ref().is_none_or(|names| names.contains(name));
        for node in state.nodes().filter(|node| inside(&node.name)) {
            if let Some(value) = node.labels.get(key).filter(|value| required.as_ref().is_none_or(|required| **required == **value)) {
                domains.entry(value.into()).or_default().insert(node.name.clone());
            }
        }
        if domains.is_empty() {
            return Err(Status::plain("no feasible placements found"));
        }
        Ok(domains.into_iter().map(|(name, nodes)| Placement { name: Some(name), nodes: Some(nodes) }).collect())
    }

    /// Returns the error where descendants are deeper than upstream descends (`plugins/helper/podgroup.go` GetPodGroupStates); of several such groups
    /// it names one at random.
    fn too_deep(&self) -> Option<String> {
        let mut level = vec![self];
        for _ in 0..MAX_DEPTH {
            level = level.into_iter().flat_map(|group| &group.children).collect();
        }
        level.first().map(|group| format!("exceeded maximum hierarchy depth at {}", group.id))
    }

    /// Returns the label's value on the nodes of pods that are bound already, which is then the only placement.
    fn domain_of_placed(&self, state: &ClusterState, key: &str) -> Result<Option<Arc<str>>, String> {
        let failed = |why: String| format!("cannot determine domain for already scheduled pods: {why}");
        let of = |leaf: &&'_ Self| placed(state, &leaf.id).cloned().collect::<Vec<_>>();
        let mut pods: Vec<Arc<PodInfo>> = self.leaves().iter().flat_map(of).collect();
        pods.sort_by_key(|pod| pod.name.clone());
        let mut domain: Option<Arc<str>> = None;
        for pod in pods {
            let name = pod.node_name.as_deref().unwrap_or_default();
            let Some(node) = state.node(name) else {
                return Err(failed(format!("getting node for pod {}: nodeinfo not found for node name \"{name}\"", pod.full_name())));
            };
            let Some(value) = node.labels.get(key) else {
                return Err(failed(format!("no topology domain found for pod {}", pod.full_name())));
            };
            if let Some(other) = domain.as_ref().filter(|other| !other.is_empty() && ***other != *value) {
                return Err(failed(format!("more than 1 domain found for pod group: {other}, {value}")));
            }
            domain = Some(value.into());
        }
        Ok(domain)
    }

    /// `RunPlacementScorePlugins`.
    fn score(&self, state: &ClusterState, fitting: &[usize], outcome: &mut PodGroupAlgorithmResult) -> Result<(), String> {
        let given = |at: &usize| outcome.tries[*at].1.given();
        let counts: Vec<i64> = fitting.iter().map(|at| (self.scheduled + given(at).len()) as i64).collect();
        let counts_pods = self.profile.placement_scores.iter().any(|(name, _)| *name == "PodGroupPodsCount");
        if let Some(error) = self.too_deep().filter(|_| counts_pods) {
            return Err(format!("running PlacementScore plugins: plugin \"PodGroupPodsCount\" failed with: {error}"));
        }
        let counted = if counts_pods { placement_pods(&counts)? } else { counts.clone() };
        for (place, at) in fitting.iter().enumerate() {
            let given = given(at);
            let pods = given.iter().map(|member| &*member.pod);
            let within = outcome.tries[*at].0.nodes.as_ref();
            let nodes = state.nodes().filter(|node| within.is_none_or(|names| names.contains(&node.name)));
            let fill = placement_fill(pods, nodes, self.profile);
            let number = |name: &str| if name == "NodeResourcesFit" { (fill, fill) } else { (counts[place], counted[place]) };
            let score = |(name, weight): &(&'static str, i64)| (*name, number(name).0, number(name).1, *weight);
            outcome.scores.insert(*at, self.profile.placement_scores.iter().map(score).collect());
        }
        Ok(())
    }
}

impl PodGroupAlgorithmResult {
    /// A result that ended before a pod was tried.
    pub(crate) fn failed(status: Status) -> Self {
        Self { tries: Vec::new(), chosen: None, drawn: Vec::new(), scores: BTreeMap::new(), status, waits: false }
    }

    /// Whether the known nodes of its pods are random.
    pub(crate) fn is_drawn(&self) -> bool {
        let drawn = |tried: &GroupAttempt| {
            let mut members = tried.members.iter().map(|member| &member.tried);
            members.any(|member| member.unknown.is_some() || !member.tied.is_empty()) || tried.groups.iter().any(Self::is_drawn)
        };
        self.drawn.len() > 1 || self.chosen.is_some_and(|at| drawn(&self.tries[at].1))
    }

    /// Returns the pods that get nodes from it, if its parent fits as well.
    pub(crate) fn kept(&self) -> Vec<&PodAttempt> {
        let chosen = self.chosen.filter(|_| self.status == Status::Success);
        chosen.map(|at| self.tries[at].1.given()).unwrap_or_default()
    }

    fn reported(self, at: usize) -> Self {
        let GroupAttempt { status, waits, .. } = &self.tries[at].1;
        Self { status: status.clone(), waits: *waits, chosen: Some(at), ..self }
    }
}
