//! One pod being placed against one state: what every filter says of every node, what every score says of those that fit.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use crate::cluster::{ClusterState, NodeCounts, NodeInfo, PodInfo};

use super::dra::driver::{self, DriverWait};
use super::groups::{GroupCycle, Listed, Scope};
use super::plugin::{Candidate, Filter, PreFilter, Refusal, Verdict};
use super::profile::FilterMode;
use super::scoring::{self, Scores};
use super::volumes::{claim_refs, owner_problem};
use super::{FilterEntry, Profile, fit_error, plugins, preemption, stateless};

/// A pod to be placed, the state it is placed in, and who places it.
pub struct Cycle<'a> {
    /// The pod, without a node.
    pub pod: &'a PodInfo,
    /// The cluster. The pod itself may be in it, without a node.
    pub state: &'a ClusterState,
    /// The scheduler.
    pub profile: &'a Profile,
    /// What a cycle of the pod's whole group changes about it, if it is one.
    pub scope: Option<&'a Scope>,
}

/// What the scheduler would do with the pod.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The refusal or error that concerns the pod as a whole, if there is one.
    pub whole_pod: Option<WholePod>,
    /// Names of the filters, in order; each node has one verdict for each.
    pub filters: Vec<&'static str>,
    /// Every node, in the state's order.
    pub nodes: Vec<NodeJudgement>,
    /// Scores of the nodes that fit; `None` where the scheduler does not score (none or one fits, or the nominated node does).
    pub scores: Option<Scores>,
    /// The node the pod is nominated to, where that node fits: it is then taken without looking at others.
    pub nominated: Option<Arc<str>>,
    /// The sentence the scheduler writes if no node fits, or if the one that is chosen then has to wait for a driver.
    pub message: Option<String>,
    /// Sentences it may write as well: chance picks among nodes that preemption ranks equal, and since 1.37 the sentence names the one picked.
    pub equal_messages: Vec<String>,
    /// Whether preemption would find a node.
    pub preemption_helps: bool,
    /// What a pod that fits waits for before it is bound (GangScheduling's Permit).
    pub permit: Option<&'static str>,
    /// What refuses the pod once one of these nodes is chosen: a driver that has yet to serve its claims (up to 1.31).
    pub driver_waits: Vec<DriverWait>,
    /// The cycle of the pod's whole group, where there is one (since 1.36).
    pub group: Option<Box<GroupCycle>>,
}

/// What ends an attempt before any node is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholePod {
    /// The pod does not enter the queue: a plugin's PreEnqueue keeps it out.
    Gated {
        /// The plugin.
        plugin: &'static str,
        /// Why, in its words.
        reason: String,
    },
    /// A plugin's PreFilter refused it.
    Refused {
        /// The plugin.
        plugin: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// The attempt ends with an error, which is its message.
    Error(String),
}

/// What the filters say of one node.
#[derive(Clone, Debug)]
pub struct NodeJudgement {
    /// The node.
    pub name: Arc<str>,
    /// Its number in the state.
    pub id: u32,
    /// One verdict per filter, in the profile's order, of the pass that decided.
    pub verdicts: Vec<Verdict>,
    /// Whether PreFilter left the node out, so that no filter was run on it.
    pub absent: bool,
}

impl NodeJudgement {
    /// The first filter that did not let the pod pass, unless one before it failed.
    pub fn first_refusal(&self) -> Option<(usize, &Refusal)> {
        self.stop().and_then(|at| match &self.verdicts[at] {
            Verdict::Reject(refusal) => Some((at, refusal)),
            _ => None,
        })
    }

    /// How far the node is from taking the pod: how many filters refuse, for how many reasons.
    pub fn distance(&self) -> (usize, usize) {
        let refusals = self.verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::Reject(refusal) => Some(refusal.reasons.len()),
            Verdict::Error(_) => Some(1),
            _ => None,
        });
        refusals.fold((0, 0), |(filters, all), reasons| (filters + 1, all + reasons))
    }

    /// The first filter that refuses or fails: where the filters stop.
    pub fn stop(&self) -> Option<usize> {
        self.verdicts.iter().position(|verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_)))
    }

    /// Whether no filter refuses (and PreFilter did not leave it out).
    pub fn fits(&self) -> bool {
        !self.absent && !self.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_)))
    }

    /// What would have to be known to be sure, if no filter refuses.
    pub fn unknown(&self) -> Option<&str> {
        self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Unknown { missing } => Some(missing.as_ref()),
            _ => None,
        })
    }
}

/// Pods that a simulation moved on a node.
#[derive(Clone, Copy, Default)]
pub struct Moved<'m> {
    /// Those that are gone.
    pub removed: &'m [Arc<PodInfo>],
    /// Those that were gone and are back.
    pub returned: &'m [Arc<PodInfo>],
}

/// The filters of a profile, prepared for one pod.
pub struct Prepared<'a> {
    filters: Vec<Option<Filter<'a>>>,
    /// What each filter says that has nothing to say about the pod: before PreFilter could skip it, it ran and passed.
    idle: Vec<Verdict>,
    /// Nodes that may fit, where some PreFilter named them, and the plugins that did.
    pub subset: Option<(BTreeSet<Arc<str>>, Vec<&'static str>)>,
    /// Refusals of the pod as a whole.
    pub whole_pod: Option<WholePod>,
}

impl<'a> Cycle<'a> {
    /// The cycle of a pod on its own.
    pub fn new(pod: &'a PodInfo, state: &'a ClusterState, profile: &'a Profile) -> Self {
        Self { pod, state, profile, scope: None }
    }

    /// The judgement where `whole` ends the attempt before any node is looked at.
    pub fn refused(&self, whole: WholePod) -> Judgement {
        let prepared = Prepared { filters: Vec::new(), idle: Vec::new(), subset: None, whole_pod: Some(whole.clone()) };
        let nodes: Vec<&NodeInfo> = self.nodes().collect();
        Judgement {
            whole_pod: Some(whole),
            filters: self.profile.filters.iter().map(|entry| entry.name).collect(),
            nodes: self.refuse_all(&nodes, &prepared),
            scores: None,
            nominated: None,
            message: None,
            equal_messages: Vec::new(),
            preemption_helps: false,
            permit: None,
            driver_waits: Vec::new(),
            group: None,
        }
    }

    /// Judges the pod on every node, scores those that fit and says what the scheduler would write.
    pub fn judge(&'a self) -> Judgement {
        let filters = self.profile.filters.iter().map(|entry| entry.name).collect();
        let prepared = self.prepare();
        let nodes: Vec<&NodeInfo> = self.nodes().collect();
        // Up to 1.17 what ends an attempt early leaves each predicate's verdict to be told.
        let told = matches!(prepared.whole_pod, Some(WholePod::Error(_))) && self.profile.release.0 <= 17;
        let refused_whole = prepared.whole_pod.is_some() && !told;
        let judged = if refused_whole { self.refuse_all(&nodes, &prepared) } else { self.judge_nodes(&nodes, &prepared) };
        let nominated = if prepared.whole_pod.is_none() { self.nominated(&judged) } else { None };
        // Where the nominated node fits, no other is looked at, and none can fail.
        let errors = || self.unknown_node(&prepared).or_else(|| fit_error::filter_errors(self, &judged));
        let errors = || errors().filter(|_| nominated.is_none()).map(WholePod::Error);
        let whole_pod = prepared.whole_pod.clone().or_else(errors);
        let mut judgement = Judgement {
            whole_pod,
            filters,
            nodes: judged,
            scores: None,
            nominated,
            message: None,
            equal_messages: Vec::new(),
            preemption_helps: false,
            permit: None,
            driver_waits: Vec::new(),
            group: None,
        };
        if judgement.whole_pod.is_none() {
            let feasible: Vec<&NodeInfo> =
                nodes.iter().zip(&judgement.nodes).filter(|(_, node)| node.fits()).map(|(node, _)| *node).collect();
            if feasible.len() > 1 && judgement.nominated.is_none() {
                match scoring::score(self, &feasible) {
                    Ok(scores) => judgement.scores = Some(scores),
                    Err(error) => judgement.whole_pod = Some(WholePod::Error(error)),
                }
            }
        }
        if judgement.whole_pod.is_some() || !judgement.nodes.iter().any(NodeJudgement::fits) {
            let post = preemption::post_filter(self, &prepared, &judgement);
            judgement.preemption_helps = post.nominates;
            let message = |post: &String| fit_error::message(self, &prepared, &judgement, post);
            let equal_messages = post.equals.iter().filter_map(message).collect();
            judgement.message = message(&post.message);
            judgement.equal_messages = equal_messages;
        } else if self.scope.is_none() {
            judgement.permit = plugins::gang_permit(self);
            judgement.driver_waits = driver::waits(self, &judgement);
            judgement.message = driver::message(&judgement);
            if judgement.message.is_none() {
                judgement.equal_messages = judgement.driver_waits.iter().map(|wait| wait.message.clone()).collect();
            }
        }
        judgement
    }

    /// The nodes that are looked at: all of them, or those of the placement tried.
    pub fn nodes(&self) -> impl Iterator<Item = &'a NodeInfo> {
        let within = self.scope.and_then(|scope| scope.within.as_ref());
        self.state.nodes().filter(move |node| within.is_none_or(|names| names.contains(&node.name)))
    }

    /// Where a term of other pods counts: in a group's cycle only on nodes that are listed.
    pub fn listed<'n>(&self, nodes: &'n NodeCounts, list: impl Fn(&Listed) -> &BTreeSet<u32>) -> Cow<'n, NodeCounts> {
        match self.scope.and_then(|scope| scope.listed.as_deref()) {
            None => Cow::Borrowed(nodes),
            Some(listed) => {
                Cow::Owned(nodes.iter().filter(|(node, _)| list(listed).contains(node)).map(|(node, count)| (*node, *count)).collect())
            }
        }
    }

    /// Runs PreEnqueue and PreFilter of every plugin, in upstream's order.
    pub fn prepare(&'a self) -> Prepared<'a> {
        let entries = &self.profile.filters;
        let mut filters: Vec<Option<Filter<'a>>> = entries.iter().map(|_| None).collect();
        let mut subset: Option<(BTreeSet<Arc<str>>, Vec<&'static str>)> = None;
        // In a group's cycle every pod has passed PreEnqueue.
        let gated = if self.scope.is_none() { self.gated() } else { None };
        let mut whole_pod = gated.or_else(|| self.missing_claim());
        for (entry, at) in self.prefilters() {
            let mut prefilter = entry.plugin.filter(self);
            if self.profile.without_prefilter.contains(&entry.name) {
                prefilter = stateless::without_prefilter(entry.name, prefilter, self.profile);
            }
            match prefilter {
                PreFilter::Skip => {}
                PreFilter::Judge(filter) => {
                    if let Some(at) = at {
                        filters[at] = Some(filter);
                    }
                }
                PreFilter::Narrow(names, filter) => {
                    if let Some(at) = at {
                        filters[at] = Some(filter);
                    }
                    subset = Some(match subset {
                        None => (names, vec![entry.name]),
                        Some((known, mut plugins)) => {
                            plugins.push(entry.name);
                            (known.intersection(&names).cloned().collect(), plugins)
                        }
                    });
                }
                PreFilter::Refuse(refusal) if whole_pod.is_none() => whole_pod = Some(WholePod::Refused { plugin: entry.name, refusal }),
                PreFilter::Error(error) if whole_pod.is_none() => {
                    whole_pod = Some(WholePod::Error(fit_error::prefilter_error(self, entry.name, &error)));
                }
                PreFilter::Refuse(_) | PreFilter::Error(_) => {}
            }
        }
        if let Some((names, plugins)) = subset.as_ref().filter(|(names, _)| names.is_empty() && whole_pod.is_none()) {
            debug_assert!(names.is_empty());
            let reason = match plugins.as_slice() {
                [one] => format!("node(s) didn't satisfy plugin {one}"),
                many => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", many.join(" ")),
            };
            whole_pod =
                Some(WholePod::Refused { plugin: plugins.last().copied().unwrap_or_default(), refusal: Refusal::unresolvable(reason) });
        }
        let idle = |entry: &FilterEntry| if self.profile.rules.skips(entry.name) { Verdict::Skip } else { Verdict::Pass };
        let idle = entries.iter().map(idle).collect();
        Prepared { filters, idle, subset, whole_pod }
    }

    /// The plugins in the order their PreFilter runs, each with its place among the filters, if it is one of them.
    fn prefilters(&self) -> Vec<(FilterEntry, Option<usize>)> {
        let entries = &self.profile.filters;
        let place = |name: &str| entries.iter().position(|entry| entry.name == name);
        let only = |name: &str| self.profile.prefilters_only.iter().find(|entry| entry.name == name);
        let named = self.profile.prefilter_order.iter();
        let mut order: Vec<(FilterEntry, Option<usize>)> = named
            .filter_map(|name| place(name).map(|at| (entries[at], Some(at))).or_else(|| only(name).map(|entry| (*entry, None))))
            .collect();
        let rest: Vec<usize> = (0..entries.len()).filter(|at| !order.iter().any(|(_, known)| *known == Some(*at))).collect();
        order.extend(rest.into_iter().map(|at| (entries[at], Some(at))));
        order
    }

    /// The PreEnqueue plugins, in their order.
    pub fn gated(&self) -> Option<WholePod> {
        let gates = &self.pod.spec.scheduling_gates;
        if self.profile.gates.on("PodSchedulingReadiness") && !gates.is_empty() {
            let reason = format!("waiting for scheduling gates: [{}]", gates.join(" "));
            return Some(WholePod::Gated { plugin: "SchedulingGates", reason });
        }
        let devices = self.profile.rules.dra && self.profile.filters.iter().any(|entry| entry.name == "DynamicResources");
        let devices = devices.then(|| plugins::dynamic_resources_pre_enqueue(self)).flatten();
        let devices = devices.map(|reason| WholePod::Gated { plugin: "DynamicResources", reason });
        devices.or_else(|| plugins::gang_pre_enqueue(self).map(|reason| WholePod::Gated { plugin: "GangScheduling", reason }))
    }

    /// `podPassesBasicChecks` (`core/generic_scheduler.go`, 1.10–1.19): a claim that is missing or being deleted ends the attempt.
    fn missing_claim(&self) -> Option<WholePod> {
        let release = self.profile.release.0;
        let ephemeral = self.profile.gates.on("GenericEphemeralVolume");
        let mut claims = claim_refs(self.pod, ephemeral).filter(|_| (10..=19).contains(&release));
        claims.find_map(|reference| {
            let name = &reference.name;
            match self.state.listers().claims.get(&self.pod.namespace, name) {
                None => Some(WholePod::Error(format!("persistentvolumeclaim \"{name}\" not found"))),
                Some(claim) if claim.metadata.deletion_timestamp.is_some() => {
                    Some(WholePod::Error(format!("persistentvolumeclaim \"{name}\" is being deleted")))
                }
                Some(claim) => reference.ephemeral.then(|| owner_problem(claim, self.pod, self.profile.release))?.map(WholePod::Error),
            }
        })
    }

    fn refuse_all(&self, nodes: &[&NodeInfo], prepared: &Prepared<'a>) -> Vec<NodeJudgement> {
        let refused = match &prepared.whole_pod {
            Some(WholePod::Refused { plugin, refusal }) => {
                self.profile.filters.iter().position(|entry| entry.name == *plugin).map(|at| (at, refusal))
            }
            _ => None,
        };
        let verdicts = |_: &&NodeInfo| {
            let mut verdicts = vec![Verdict::Skip; self.profile.filters.len()];
            if let Some((at, refusal)) = refused {
                verdicts[at] = Verdict::Reject(refusal.clone());
            }
            verdicts
        };
        nodes.iter().map(|node| NodeJudgement { name: node.name.clone(), id: node.id, verdicts: verdicts(node), absent: true }).collect()
    }

    fn judge_nodes(&self, nodes: &[&NodeInfo], prepared: &Prepared<'a>) -> Vec<NodeJudgement> {
        let nominated = self.nominated_pods();
        let judge = |node: &NodeInfo| NodeJudgement {
            name: node.name.clone(),
            id: node.id,
            verdicts: self.judge_node(node, prepared, &nominated, Moved::default()),
            absent: prepared.subset.as_ref().is_some_and(|(names, _)| !names.contains(&node.name)) && !self.tries_first(&node.name),
        };
        in_parallel(nodes, |node| judge(node))
    }

    /// The verdicts of all filters on one node, off which those pods were taken. Pods nominated to the node that the pod may not displace are
    /// first thought there; the pod must fit with and without them.
    pub fn judge_node(
        &self,
        node: &NodeInfo,
        prepared: &Prepared<'a>,
        nominated: &BTreeMap<Arc<str>, Vec<Arc<PodInfo>>>,
        Moved { removed, returned }: Moved<'_>,
    ) -> Vec<Verdict> {
        if let Some(added) = nominated.get(&node.name) {
            let mut info = node.clone();
            for pod in added {
                info.put_on(pod.clone(), self.state.rules(), self.profile.rules.sidecar_ports);
            }
            let verdicts = prepared.run(&Candidate { node: &info, added, removed, returned }, self.profile.filter_mode);
            if !verdicts.iter().all(Verdict::passes) {
                return verdicts;
            }
        }
        prepared.run(&Candidate { node, added: &[], removed, returned }, self.profile.filter_mode)
    }

    /// Pods nominated to nodes that this pod must leave room for, by node.
    pub fn nominated_pods(&self) -> BTreeMap<Arc<str>, Vec<Arc<PodInfo>>> {
        let mut by_node: BTreeMap<Arc<str>, Vec<Arc<PodInfo>>> = BTreeMap::new();
        // Without priorities the queue is a plain one and knows no nominations (`core/scheduling_queue.go` FIFO, default up to 1.10).
        for other in self.state.nominated().filter(|_| self.profile.gates.on("PodPriority")) {
            let itself = other.namespace == self.pod.namespace && other.name == self.pod.name;
            if let Some(node) = other.nominated_node_name.clone().filter(|_| !itself && other.spec.priority >= self.pod.spec.priority) {
                by_node.entry(node).or_default().push(other.clone());
            }
        }
        by_node
    }

    /// What the attempt ends with where PreFilter names a node that is not there (`schedule_one.go` findNodesThatFitPod).
    fn unknown_node(&self, prepared: &Prepared) -> Option<String> {
        let (names, _) = prepared.subset.as_ref().filter(|_| self.profile.rules.named_nodes_must_be)?;
        let unknown = names.iter().find(|name| self.state.node(name).is_none())?;
        Some(format!("nodeinfo not found for node name \"{unknown}\""))
    }

    /// Whether a node is tried whatever subset PreFilter names, and its refusal told: the one the pod itself is nominated to.
    fn tries_first(&self, node: &Arc<str>) -> bool {
        self.profile.rules.nominated_first && self.pod.nominated_node_name.as_ref() == Some(node)
    }

    /// The node the pod itself is nominated to, if that fits: it is tried first and alone.
    fn nominated(&self, nodes: &[NodeJudgement]) -> Option<Arc<str>> {
        let wanted = self.pod.nominated_node_name.as_ref().filter(|_| self.profile.rules.nominated_first)?;
        // The subset PreFilter names is not asked for the nominated node.
        let node = nodes.iter().find(|node| node.name == *wanted)?;
        node.verdicts.iter().all(Verdict::passes).then(|| wanted.clone())
    }
}

impl Prepared<'_> {
    /// Which filters have nothing to say about the pod.
    pub fn idle_filters(&self) -> Vec<bool> {
        self.filters.iter().map(Option::is_none).collect()
    }

    /// Whether the PreFilter of the filter in that place said that it has nothing to say, and so wrote no state.
    pub fn skips(&self, at: usize) -> bool {
        self.filters[at].is_none() && self.idle[at] == Verdict::Skip
    }

    /// Runs every filter on a node; in 1.17 each refusal is one reason.
    fn run(&self, candidate: &Candidate, mode: FilterMode) -> Vec<Verdict> {
        let filters = self.filters.iter().zip(&self.idle);
        let judged = filters.map(|(filter, idle)| filter.as_ref().map_or_else(|| idle.clone(), |filter| filter(candidate)));
        match mode {
            FilterMode::FirstReason => judged.map(first_reason).collect(),
            FilterMode::All | FilterMode::FirstRefusal => judged.collect(),
        }
    }
}

/// 1.17 keeps one reason of each predicate: the first.
fn first_reason(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Reject(mut refusal) => {
            refusal.reasons.truncate(1);
            Verdict::Reject(refusal)
        }
        other => other,
    }
}

/// Below this many nodes a second thread costs more than it brings.
const PARALLEL_FROM: usize = 256;

/// Maps nodes in their order, on every core where there are many.
pub fn in_parallel<T: Send>(nodes: &[&NodeInfo], map: impl Fn(&NodeInfo) -> T + Sync) -> Vec<T> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    if nodes.len() < PARALLEL_FROM || workers == 1 {
        return nodes.iter().map(|node| map(node)).collect();
    }
    let map = &map;
    thread::scope(|scope| {
        let parts: Vec<_> = nodes
            .chunks(nodes.len().div_ceil(workers))
            .map(|part| scope.spawn(move || part.iter().map(|node| map(node)).collect::<Vec<T>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
