//! Preemption for a pod group: which victims make room for it.
//! Sources: `framework/preemption/podgrouppreemption.go`, `plugins/defaultpreemption/default_preemption.go` PodGroupPostFilter (1.36, 1.37).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Cycle;
use crate::cluster::{CachedObject, ClusterState, PodInfo, PodKey, UndoLog};
use crate::framework::PostFilter;
use crate::preemption::budgets::budgets;
use crate::registry;

use super::assignments::Assignments;
use super::placement::PodGroupAlgorithmResult;
use super::status::Status;
use crate::pod_groups::Hierarchy;
use crate::preemption::evict::{DisruptionGroups, Reprieved, Unit, missing_nodes, node_not_found, repeated, reprieve};

use super::{Group, PREEMPTION_MODE, object_key};

pub(crate) enum PodGroupPostFilterResult {
    /// It makes room: the text it adds, the victims, the nodes that pods are nominated to, and whether equally important pods might be victims instead.
    Helps { message: String, victims: Vec<Arc<PodInfo>>, nodes: Vec<(PodKey, Arc<str>)>, tied: bool },
    /// It does not make room, for this reason.
    Declines(String),
    /// It fails with this error; `drawn`: another error is as likely.
    Fails { why: String, drawn: bool },
    /// It was not tried: there are too many possible victims on too many nodes.
    NotTried { victims: usize, nodes: usize },
}

const NO_VICTIMS: &str = "No preemption victims found for incoming preemptor";

/// Limit of attempts of a group: groups times victims times nodes grow beyond what one explanation may cost.
const MAX_GROUP_TRIALS: usize = 400_000;

impl Group<'_> {
    /// Runs PostFilter for a group that does not fit. `outcome`: the result of its algorithm.
    pub(crate) fn preempt(&self, state: &mut ClusterState, outcome: &PodGroupAlgorithmResult) -> Option<PodGroupPostFilterResult> {
        let refused = matches!(outcome.status, Status::Rejected { .. });
        let runs = self.newer() || self.profile.gates.on("WorkloadAwarePreemption");
        let runs = refused && runs;
        let claims = if runs && self.newer() && self.claims_are_freed() { Some(self.freed(state, outcome)) } else { None };
        match claims {
            _ if !runs => None,
            Some(PostFilter::Ends(message)) => Some(PodGroupPostFilterResult::Declines(message.to_owned())),
            Some(PostFilter::Fails(why)) => Some(PodGroupPostFilterResult::Fails {
                why: format!("error in \"DynamicResources\" PodGroupPostFilter plugins: {why}"),
                drawn: false,
            }),
            Some(PostFilter::Says(message)) => Some(self.worded(self.sought(state), message)),
            Some(PostFilter::Preempts) | None => Some(self.worded(self.sought(state), "")),
        }
    }

    /// Words the result. 1.37 runs the PodGroupPostFilter plugins and names each in the message: DynamicResources, whose text is `claims` and which
    /// never helps, and DefaultPreemption. Where there are no victims at all no other text is added (`RunPodGroupPostFilterPlugins` of
    /// `framework/runtime/framework.go`).
    fn worded(&self, answer: PodGroupPostFilterResult, claims: &str) -> PodGroupPostFilterResult {
        let named = |text: String| if self.newer() && !text.is_empty() { format!("pod group preemption: {text}") } else { text };
        match answer {
            PodGroupPostFilterResult::Helps { message, victims, nodes, tied } => {
                PodGroupPostFilterResult::Helps { message: named(message), victims, nodes, tied }
            }
            PodGroupPostFilterResult::Declines(why) if self.newer() && why != NO_VICTIMS => {
                let message = (!claims.is_empty()).then(|| claims.to_owned()).into_iter().chain((!why.is_empty()).then(|| named(why)));
                PodGroupPostFilterResult::Declines(message.collect::<Vec<_>>().join(", "))
            }
            PodGroupPostFilterResult::Declines(why) => PodGroupPostFilterResult::Declines(named(why)),
            PodGroupPostFilterResult::Fails { why, drawn } if self.newer() => PodGroupPostFilterResult::Fails {
                why: format!("error in \"DefaultPreemption\" PodGroupPostFilter plugins: {}", named(why)),
                drawn,
            },
            other => other,
        }
    }

    fn sought(&self, state: &mut ClusterState) -> PodGroupPostFilterResult {
        if !self.profile.preempts {
            let missing = "default preemption plugin is not registered, workload aware preemption is disabled";
            return PodGroupPostFilterResult::Declines(if self.newer() { String::new() } else { missing.to_owned() });
        }
        let gone = if self.newer() { missing_nodes(state, self.profile) } else { BTreeSet::new() };
        if let Some(node) = gone.first() {
            return PodGroupPostFilterResult::Fails {
                why: format!("failed to create domain: {}", node_not_found(node)),
                drawn: gone.len() > 1,
            };
        }
        if !self.newer() && self.spec.topology_key().is_some() {
            return PodGroupPostFilterResult::Declines(
                "workload aware preemption is not supported for pod groups with scheduling constraints".to_owned(),
            );
        }
        if self.never_preempts() {
            return PodGroupPostFilterResult::Declines("not eligible due to preemptionPolicy=Never.".to_owned());
        }
        if self.newer() && self.waits_for_victims(state) {
            return PodGroupPostFilterResult::Helps {
                message: "ongoing preemption on nominated nodes".to_owned(),
                victims: Vec::new(),
                nodes: self.pods().filter_map(|pod| Some((pod.key(), pod.nominated_node_name.clone()?))).collect(),
                tied: false,
            };
        }
        let mut lower = DisruptionGroups::new(state, self.profile).units(state.nodes());
        lower.retain(|unit| unit.priority < self.spec.priority.unwrap_or(0));
        if lower.is_empty() {
            return PodGroupPostFilterResult::Declines(NO_VICTIMS.to_owned());
        }
        if let Some(why) = repeated(&lower, |_| true) {
            return PodGroupPostFilterResult::Fails { why, drawn: true };
        }
        let cost = (lower.len() + 1).saturating_mul(self.pods().count()).saturating_mul(state.node_count().max(1));
        if cost > MAX_GROUP_TRIALS {
            return PodGroupPostFilterResult::NotTried { victims: lower.len(), nodes: state.node_count() };
        }
        let mut state = UndoLog::new(state);
        for pod in lower.iter().flat_map(|unit| &unit.pods) {
            state.set(&object_key(pod), None);
        }
        self.spare(&mut state, lower)
    }

    /// Whether DynamicResources' PodGroupPostFilter runs: not for a composite group or one with a topology constraint
    /// (`plugins/dynamicresources/dynamicresources.go` PodGroupPostFilter, 1.37).
    fn claims_are_freed(&self) -> bool {
        let runs = self.profile.rules.dra && self.profile.post_filters.contains(&"DynamicResources") && !self.id.composite;
        runs && !(self.by_topology() && self.spec.scheduling_constraints.is_some())
    }

    /// Runs DynamicResources' PodGroupPostFilter on the pods tried.
    fn freed(&self, state: &ClusterState, outcome: &PodGroupAlgorithmResult) -> PostFilter {
        let plugin = registry::named("DynamicResources");
        let Some(tried) = outcome.chosen.map(|at| &outcome.tries[at].1) else { return plugin.pod_group_post_filter(&[]) };
        let (profile, scope) = (self.profile, Some(&tried.scope));
        let members = tried.members.iter().map(|member| (Cycle { pod: &member.pod, state, profile, scope }, &member.judgement));
        let members: Vec<_> = members.collect();
        plugin.pod_group_post_filter(&members)
    }

    fn never_preempts(&self) -> bool {
        if self.newer() && self.profile.gates.on("PodGroupPreemptionPolicy") {
            return self.spec.preemption_policy.as_deref() == Some("Never");
        }
        self.pods().any(|pod| pod.spec.never_preempts)
    }

    /// `isOngoingPreemption`: a pod of lower priority on a nominated node is terminating, as a victim.
    fn waits_for_victims(&self, state: &ClusterState) -> bool {
        let (own, hierarchy) = (self.spec.priority.unwrap_or(0), Hierarchy::new(state, self.profile));
        let nominated = self.pods().filter_map(|pod| state.node(pod.nominated_node_name.as_deref()?));
        let going = |pod: &Arc<PodInfo>| pod.terminating && pod.preempted && crate::preemption::evict::priority(pod, hierarchy) < own;
        nominated.into_iter().any(|node| node.pods.iter().any(going))
    }

    /// `selectVictimsOnDomain`, after all units of lower priority are removed: reprieves each that may stay, first those whose budget would be
    /// violated.
    fn spare(&self, state: &mut ClusterState, lower: Vec<Unit>) -> PodGroupPostFilterResult {
        let alone = self.run(state, PREEMPTION_MODE);
        match &alone.status {
            Status::Success => {}
            Status::Error(error) => return PodGroupPostFilterResult::Fails { why: error.clone(), drawn: false },
            refused @ Status::Rejected { .. } => return PodGroupPostFilterResult::Declines(refused.message()),
        }
        let mut assignments = self.newer().then(|| Assignments::new(self, state, &alone));
        let budgets = budgets(state);
        let Reprieved { victims, tied } =
            reprieve(lower, &budgets, &self.profile.rules, |unit| self.may_stay(unit, state, assignments.as_mut()));
        let tied = tied || alone.is_drawn() || assignments.is_some_and(|assignments| assignments.are_drawn());
        let victims: Vec<Arc<PodInfo>> = victims.into_iter().flat_map(|(unit, _)| unit.pods).collect();
        let nodes = alone.kept().into_iter().filter_map(|member| Some((member.pod.key(), member.tried.node.clone()?))).collect();
        let found = format!("found a placement for podgroup, preempting {} victims", victims.len());
        PodGroupPostFilterResult::Helps { message: if self.newer() { found } else { String::new() }, victims, nodes, tied }
    }

    /// Puts a unit back; removes it again if the group no longer fits.
    fn may_stay(&self, unit: &Unit, state: &mut ClusterState, assignments: Option<&mut Assignments>) -> bool {
        let mut state = UndoLog::new(state);
        for pod in &unit.pods {
            state.set(&object_key(pod), Some(CachedObject::Pod(pod.clone())));
        }
        let fits = match assignments {
            Some(assignments) => {
                assignments.moved(&state, unit, 1);
                let fits = assignments.hold(&mut state);
                if !fits {
                    assignments.moved(&state, unit, -1);
                }
                fits
            }
            None => self.run(&mut state, PREEMPTION_MODE).status == Status::Success,
        };
        if fits {
            state.keep();
        }
        fits
    }
}
