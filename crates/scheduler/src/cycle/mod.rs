//! One pod evaluated against one state: the verdict of every filter on every node, and every score of the nodes that fit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use crate::cluster::{ClusterState, NodeInfo, PodInfo};

use crate::framework::{Candidate, Cycle, Feasible, Judgement, NodeJudgement, Sample, Scores, Verdict, WholePod};
use crate::registry;

mod batching;
pub(crate) mod fit_error;
pub(crate) mod prepared;
pub(crate) mod sampling;
pub(crate) mod scoring;
pub(crate) mod unread;

use prepared::Prepared;

/// Pods that a preemption dry run (`DryRunPreemption`) removed from a node or put back.
#[derive(Clone, Copy, Default)]
pub struct Moved<'m> {
    /// Pods that were removed.
    pub removed: &'m [Arc<PodInfo>],
    /// Pods that were removed and put back.
    pub returned: &'m [Arc<PodInfo>],
}

impl<'a> Cycle<'a> {
    /// Returns the judgement where `whole` ends the attempt before any node is evaluated.
    pub fn refused(&self, whole: WholePod) -> Judgement {
        let nodes: Vec<&NodeInfo> = self.nodes().collect();
        let nodes = self.refuse_all(&nodes, &whole);
        Judgement::new(self.filters(), nodes, Some(whole))
    }

    /// Upstream's `schedulePod`: runs the filters on every node and scores the nodes that fit; without `scores_unseen` only where the scheduler sees
    /// all of them.
    pub(crate) fn schedule(&'a self, scores_unseen: bool) -> (Judgement, Prepared<'a>) {
        let prepared = self.prepare();
        let nodes: Vec<&NodeInfo> = self.nodes().collect();
        let mut judgement = self.filtered(&nodes, &prepared);
        let is_scored = scores_unseen || judgement.sample.unseen() == 0;
        if is_scored && judgement.whole_pod.is_none() && judgement.nominated.is_none() {
            let feasible = nodes.iter().zip(&judgement.nodes).filter(|(_, node)| node.fits()).map(|(node, _)| *node).collect();
            let feasible = Feasible::new(feasible, judgement.sample.unseen());
            match if feasible.len() > 1 { scoring::score(self, &feasible).map(Some) } else { Ok(None) } {
                Ok(scores) => {
                    judgement.batched = scores.is_some() && self.may_be_batched();
                    judgement.scores = scores;
                }
                Err(error) => judgement.whole_pod = Some(WholePod::Error(error)),
            }
        }
        (judgement, prepared)
    }

    /// Scores some of the nodes that fit, as an attempt does that saw no others; `None`: a single node is not scored.
    ///
    /// # Errors
    /// A plugin's error, which ends the attempt.
    pub fn score_among(&self, names: &[String]) -> Result<Option<Scores>, String> {
        let nodes: Vec<&NodeInfo> = names.iter().filter_map(|name| self.state.node(name)).collect();
        let feasible = Feasible::new(nodes, 0);
        if feasible.len() > 1 { scoring::score(self, &feasible).map(Some) } else { Ok(None) }
    }

    /// The filters whose verdicts each node has, in order.
    fn filters(&self) -> Vec<&'static str> {
        self.profile.rows().map(|entry| entry.name).collect()
    }

    /// Runs the filters on all nodes (upstream's `findNodesThatFitPod`).
    fn filtered(&self, nodes: &[&NodeInfo], prepared: &Prepared<'a>) -> Judgement {
        // Up to 1.17 an error that ends the attempt early does not hide the verdicts of the predicates.
        let ends = |whole: &&WholePod| !matches!(whole, WholePod::Error(_)) || !self.profile.rules.errors_leave_verdicts();
        if let Some(whole) = prepared.whole_pod.as_ref().filter(ends) {
            return Judgement::new(self.filters(), self.refuse_all(nodes, whole), Some(whole.clone()));
        }
        let mut evaluated = self.filter_nodes(nodes, prepared);
        prepared.spread_unread(&mut evaluated);
        let unread = self.unread_nodes(evaluated.first().map_or(self.filters().len(), |node| node.verdicts.len()));
        evaluated.extend(unread);
        let nominated = if prepared.whole_pod.is_none() { self.nominated(&evaluated) } else { None };
        // Where the nominated node fits, no other node is evaluated, so none can fail.
        let errors = || self.unknown_node(prepared).map_or_else(|| fit_error::filter_errors(self, &evaluated), |error| vec![error]);
        let mut errors = if prepared.whole_pod.is_none() && nominated.is_none() { errors() } else { Vec::new() }.into_iter();
        let whole_pod = prepared.whole_pod.clone().or_else(|| errors.next().map(WholePod::Error));
        let unread = evaluated.len() - nodes.len();
        let tried =
            unread + nodes.iter().filter(|node| prepared.subset.as_ref().is_none_or(|(names, _)| names.contains(&node.name))).count();
        let sample = Sample::new(self.profile, tried, evaluated.iter().filter(|node| node.fits()).count());
        Judgement { nominated, sample, equal_messages: errors.collect(), ..Judgement::new(self.filters(), evaluated, whole_pod) }
    }

    /// Adds what a pod that fits waits for before it is bound: Permit.
    pub(crate) fn end_bound(&self, judgement: &mut Judgement) {
        judgement.permit = if self.profile.gang.permit { registry::named("GangScheduling").permit(self) } else { None };
    }

    fn refuse_all(&self, nodes: &[&NodeInfo], whole: &WholePod) -> Vec<NodeJudgement> {
        let refused = match whole {
            WholePod::Refused { plugin, refusal } => self.profile.rows().position(|entry| entry.name == *plugin).map(|at| (at, refusal)),
            _ => None,
        };
        let verdicts = |_: &&NodeInfo| {
            let mut verdicts = vec![Verdict::Skip; self.profile.rows().count()];
            if let Some((at, refusal)) = refused {
                verdicts[at] = Verdict::Reject(refusal.clone());
            }
            verdicts
        };
        nodes.iter().map(|node| NodeJudgement { name: node.name.clone(), id: node.id, verdicts: verdicts(node), absent: true }).collect()
    }

    fn filter_nodes(&self, nodes: &[&NodeInfo], prepared: &Prepared<'a>) -> Vec<NodeJudgement> {
        let nominated = self.nominated_pods();
        let filter = |node: &NodeInfo| {
            let mut verdicts = self.filter_node(node, prepared, &nominated, Moved::default());
            verdicts.extend(self.profile.prefilters_only.iter().map(|entry| prepared.left_out(entry.name, &node.name)));
            let absent = prepared.subset.as_ref().is_some_and(|(names, _)| !names.contains(&node.name)) && !self.tries_first(&node.name);
            NodeJudgement { name: node.name.clone(), id: node.id, verdicts, absent }
        };
        in_parallel(self.state, nodes, |node| filter(node))
    }

    /// Returns nodes that exist but cannot be read. Every filter's verdict on them is unknown.
    fn unread_nodes(&self, filters: usize) -> Vec<NodeJudgement> {
        let within = self.scope.and_then(|scope| scope.within.as_ref());
        let unread = self.state.unreadable_nodes().filter(|node| within.is_none_or(|names| names.contains(&node.key.name)));
        let evaluated = |(name, missing): (Arc<str>, String)| {
            let verdicts = vec![Verdict::Unknown { missing: missing.into() }; filters];
            Some(NodeJudgement { id: self.state.id_of(&name)?, name, verdicts, absent: false })
        };
        unread.map(|node| (node.key.name.clone(), node.to_string())).filter_map(evaluated).collect()
    }

    /// Runs all filters on one node (upstream's `RunFilterPluginsWithNominatedPods`), from which `removed` pods were taken. Nominated pods that this
    /// pod may not displace are added first; the pod must fit with and without them.
    pub fn filter_node(
        &self,
        node: &NodeInfo,
        prepared: &Prepared<'a>,
        nominated: &BTreeMap<Arc<str>, Vec<Arc<PodInfo>>>,
        Moved { removed, returned }: Moved<'_>,
    ) -> Vec<Verdict> {
        if let Some(added) = nominated.get(&node.name) {
            let mut info = node.clone();
            for pod in added {
                info.simulate_add(pod.clone(), self.state.rules(), self.profile.rules.sidecar_ports);
            }
            let verdicts = prepared.run(&Candidate { node: &info, added, removed, returned }, self.profile.filter_mode);
            if !verdicts.iter().all(Verdict::passes) {
                return verdicts;
            }
        }
        prepared.run(&Candidate { node, added: &[], removed, returned }, self.profile.filter_mode)
    }

    /// Returns the error of an attempt whose PreFilter names a node that does not exist (`schedule_one.go` findNodesThatFitPod).
    fn unknown_node(&self, prepared: &Prepared) -> Option<String> {
        let (names, _) = prepared.subset.as_ref().filter(|_| self.profile.rules.named_nodes_must_be)?;
        let unknown = names.iter().find(|name| self.state.node(name).is_none())?;
        Some(format!("nodeinfo not found for node name \"{unknown}\""))
    }

    /// Whether a node is evaluated, and its rejection reported, even where the PreFilterResult leaves it out: the node this pod is nominated to.
    fn tries_first(&self, node: &Arc<str>) -> bool {
        self.profile.rules.nominated_first && self.pod.nominated_node_name.as_ref() == Some(node)
    }

    /// Returns the node this pod is nominated to (`NominatedNodeName`), if it fits there: upstream evaluates it first and alone
    /// (`evaluateNominatedNode`).
    fn nominated(&self, nodes: &[NodeJudgement]) -> Option<Arc<str>> {
        let wanted = self.pod.nominated_node_name.as_ref().filter(|_| self.profile.rules.nominated_first)?;
        // The PreFilterResult does not restrict the nominated node.
        let node = nodes.iter().find(|node| node.name == *wanted)?;
        node.verdicts.iter().all(Verdict::passes).then(|| wanted.clone())
    }
}

/// Below this many nodes a second thread costs more than it saves.
const PARALLEL_FROM: usize = 256;

/// Stack size of each thread, in bytes: expressions that plugins evaluate may nest deeply.
const EVALUATION_STACK_BYTES: usize = 8 << 20;

/// Maps nodes in order, on all cores where there are many nodes, unless other cores have states of their own. Where the state has an object that
/// cannot be read, one core maps them all, so that each encounter with it belongs to the lookup under way.
pub(crate) fn in_parallel<T: Send>(state: &ClusterState, nodes: &[&NodeInfo], map: impl Fn(&NodeInfo) -> T + Sync) -> Vec<T> {
    // How many cores there are is read from files: not for few nodes.
    let is_alone = nodes.len() < PARALLEL_FROM || state.is_on_one_core || state.has_unreadable();
    let workers = if is_alone { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    if workers == 1 {
        return nodes.iter().map(|node| map(node)).collect();
    }
    let map = &map;
    thread::scope(|scope| {
        let parts: Vec<_> = nodes
            .chunks(nodes.len().div_ceil(workers))
            .map(|part| {
                let work = move || part.iter().map(|node| map(node)).collect::<Vec<T>>();
                thread::Builder::new().stack_size(EVALUATION_STACK_BYTES).spawn_scoped(scope, work).expect("the system starts threads")
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
