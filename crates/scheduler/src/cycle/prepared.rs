//! What runs before any node is evaluated: PreEnqueue and PreFilter of every plugin, and the filters as PreFilter prepared them for the pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fit_error;
use super::unread::Unread;
use crate::cluster::Unreadable;
use crate::framework::{Candidate, Cycle, Filter, FilterEntry, FilterMode, NodeJudgement, PreFilter, Refusal, Verdict, WholePod};
use crate::registry;
use crate::volumes::{claim_refs, owner_problem};

/// The filters of a profile, prepared for one pod: upstream's CycleState after PreFilter.
pub struct Prepared<'a> {
    filters: Vec<Option<Filter<'a>>>,
    /// The verdict of each filter whose PreFilter returned Skip. Before PreFilter could return Skip, such filters ran and passed.
    idle: Vec<Verdict>,
    /// The merged PreFilterResult: the nodes that may fit, and the plugins that named them. `None`: all nodes.
    pub subset: Option<(BTreeSet<Arc<str>>, Vec<&'static str>)>,
    /// The status that ends the attempt before any node is evaluated.
    pub whole_pod: Option<WholePod>,
    unread: Unread,
}

impl<'a> Cycle<'a> {
    /// Runs PreEnqueue and PreFilter of every plugin, in upstream's order.
    pub fn prepare(&'a self) -> Prepared<'a> {
        let entries = &self.profile.filters;
        let mut filters: Vec<Option<Filter<'a>>> = entries.iter().map(|_| None).collect();
        let mut subset: Option<(BTreeSet<Arc<str>>, Vec<&'static str>)> = None;
        // Pods in a group's cycle have passed PreEnqueue.
        let gated = if self.scope.is_none() { self.known(|| self.gated()) } else { None };
        let mut whole_pod = gated.or_else(|| self.known(|| self.missing_claim()));
        for (entry, at) in self.prefilters() {
            let (mut prefilter, unread) = self.state.collect(|| entry.plugin.filter(self));
            if self.profile.without_prefilter.contains(&entry.name) {
                prefilter = entry.plugin.filter_without_state(self, prefilter);
            }
            if let Some(missing) = unread.first().map(ToString::to_string) {
                match at {
                    Some(at) => filters[at] = Some(Box::new(move |_| Verdict::Unknown { missing: missing.clone().into() })),
                    None => self.report(&unread),
                }
                continue;
            }
            match prefilter {
                PreFilter::Skip => {}
                PreFilter::Filter(filter) => {
                    if let Some(at) = at {
                        filters[at] = Some(filter);
                    }
                }
                PreFilter::Narrow(names, filter) => {
                    if let Some(at) = at {
                        filters[at] = Some(filter);
                    }
                    let (names, plugins) = match subset {
                        None => (names, vec![entry.name]),
                        Some((known, mut plugins)) => {
                            plugins.push(entry.name);
                            (known.intersection(&names).cloned().collect(), plugins)
                        }
                    };
                    if names.is_empty() && whole_pod.is_none() {
                        whole_pod = Some(WholePod::Refused { plugin: entry.name, refusal: self.nowhere(&plugins) });
                    }
                    subset = Some((names, plugins));
                }
                PreFilter::Refuse(refusal) if whole_pod.is_none() => whole_pod = Some(WholePod::Refused { plugin: entry.name, refusal }),
                PreFilter::Error(error) if whole_pod.is_none() => {
                    whole_pod = Some(WholePod::Error(fit_error::prefilter_error(self, entry.name, &error)));
                }
                PreFilter::Refuse(_) | PreFilter::Error(_) => {}
            }
        }
        let idle = |entry: &FilterEntry| if self.profile.rules.skips(entry.name) { Verdict::Skip } else { Verdict::Pass };
        let idle = entries.iter().map(idle).collect();
        Prepared { filters, idle, subset, whole_pod, unread: Unread::new(self) }
    }

    /// Runs `ask` and returns its result, unless that depends on an object that cannot be read; the judgement then reports the object.
    fn known<T>(&self, ask: impl FnOnce() -> Option<T>) -> Option<T> {
        let (answer, unread) = self.state.collect(ask);
        self.report(&unread);
        answer.filter(|_| unread.is_empty())
    }

    /// Reports objects that cannot be read to the judgement.
    fn report(&self, unread: &[Arc<Unreadable>]) {
        let encounters = self.state.encounters();
        unread.iter().for_each(|one| encounters.report(one));
    }

    /// Returns the rejection where the PreFilterResults of these plugins leave no node. Up to 1.29 preemption is tried all the same.
    fn nowhere(&self, plugins: &[&str]) -> Refusal {
        let reason = match plugins {
            [one] => format!("node(s) didn't satisfy plugin {one}"),
            many => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", many.join(" ")),
        };
        Refusal { reasons: vec![reason.into()], preemption_may_help: self.profile.rules.preempts_without_common_node() }
    }

    /// Returns the plugins in the order their PreFilter runs, each with its position among the filters, if it is one.
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

    /// Runs the PreEnqueue plugins, in order.
    pub fn gated(&self) -> Option<WholePod> {
        self.profile.pre_enqueues.iter().find_map(|plugin| {
            let reason = registry::named(plugin).pre_enqueue(self);
            reason.map(|reason| WholePod::Gated { plugin, reason })
        })
    }

    /// `podPassesBasicChecks` (`core/generic_scheduler.go`, 1.10–1.19): a claim that is missing or being deleted ends the attempt.
    fn missing_claim(&self) -> Option<WholePod> {
        let ephemeral = self.profile.gates.on("GenericEphemeralVolume");
        let mut claims = claim_refs(self.pod, ephemeral).filter(|_| self.profile.rules.basic_checks());
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
}

impl<'a> Prepared<'a> {
    /// Returns the verdict of a plugin that has only a PreFilter: Skip, unless its PreFilterResult leaves the node out.
    pub fn left_out(&self, plugin: &str, node: &Arc<str>) -> Verdict {
        match &self.subset {
            Some((names, plugins)) if plugins.contains(&plugin) && !names.contains(node) => {
                Verdict::unresolvable(format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" ")))
            }
            _ => Verdict::Skip,
        }
    }

    /// Which filters are skipped for this pod.
    pub fn idle_filters(&self) -> Vec<bool> {
        self.filters.iter().map(Option::is_none).collect()
    }

    /// Replaces the filter at a position.
    pub fn replace(&mut self, at: usize, filter: Filter<'a>) {
        self.filters[at] = Some(filter);
    }

    /// Whether the PreFilter of the filter at a position returned Skip, and so wrote no CycleState.
    pub fn skips(&self, at: usize) -> bool {
        self.filters[at].is_none() && self.idle[at] == Verdict::Skip
    }

    /// Makes a filter's verdict unknown on all nodes if it came to depend, on any node, on an object that cannot be read.
    pub fn spread_unread(&self, nodes: &mut [NodeJudgement]) {
        self.unread.spread(nodes);
    }

    /// Runs every filter on a node. In 1.17 each rejection has one reason.
    pub fn run(&self, candidate: &Candidate, mode: FilterMode) -> Vec<Verdict> {
        let filters = self.filters.iter().zip(&self.idle);
        let verdicts = filters.enumerate().map(|(at, (filter, idle))| match filter {
            Some(filter) => self.unread.or_unknown(at, candidate, || filter(candidate)),
            None => idle.clone(),
        });
        match mode {
            FilterMode::FirstReason => verdicts.map(first_reason).collect(),
            FilterMode::All | FilterMode::FirstRefusal => verdicts.collect(),
        }
    }
}

/// Keeps the first reason of a verdict, as 1.17 does for each predicate.
fn first_reason(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Reject(mut refusal) => {
            refusal.reasons.truncate(1);
            Verdict::Reject(refusal)
        }
        other => other,
    }
}
