//! What follows when no node fits (PostFilter): whether evicting pods of lower priority would help, and the words added to the message.
//! Sources: `core/generic_scheduler.go` Preempt (1.11–1.18), `plugins/defaultpreemption` (1.19–1.37), `framework/preemption` (1.23–1.37).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};

use crate::cycle::fit_error::{filter_error, histogram};
use crate::cycle::prepared::Prepared;
use crate::cycle::{Moved, in_parallel};
use crate::framework::{Cycle, FilterMode, Judgement, NodeJudgement, PostFilter, PostFilters, Verdict, WholePod};
use crate::pod_groups::Hierarchy;
use crate::registry;
use crate::release::{FitErrorFormat, PreemptionCandidates};

pub(crate) mod budgets;
pub(crate) mod evict;
mod scheduling_cycle;
mod units;
pub(crate) mod victims;

use evict::DisruptionGroups;
use victims::{PreemptionCandidate, candidates};

/// The result of the PostFilter plugins (upstream's `PostFilterResult` and status).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PostFilterResult {
    /// The text they add to the message; empty where they add nothing.
    pub message: String,
    /// Other texts they may add: of nodes with equal rank one is picked at random, and since 1.37 the message names it.
    pub equals: Vec<String>,
    /// Whether preemption nominates a node.
    pub nominates: bool,
    /// Whether PostFilter ends with an error; then no other text is added.
    failed: bool,
}

const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// Runs the profile's PostFilter plugins, up to the first that succeeds or fails.
pub(crate) fn post_filter<'a>(cycle: &'a Cycle<'a>, prepared: &Prepared<'a>, judgement: &Judgement) -> PostFilterResult {
    let profile = cycle.profile;
    if matches!(judgement.whole_pod, Some(WholePod::Gated { .. } | WholePod::Error(_))) {
        return PostFilterResult::default();
    }
    let of_group = cycle.scope.map_or(PostFilters::Run, |scope| scope.post_filter);
    if of_group == PostFilters::Skip {
        return PostFilterResult::default();
    }
    let mut parts: Vec<String> = Vec::new();
    for plugin in &profile.post_filters {
        match registry::named(plugin).post_filter(cycle, judgement) {
            PostFilter::Says(text) => parts.push(text.to_owned()),
            PostFilter::Ends(text) | PostFilter::Fails(text) => {
                return PostFilterResult { message: text.to_owned(), ..PostFilterResult::default() };
            }
            PostFilter::Preempts if !profile.preempts => {}
            PostFilter::Preempts => {
                if let PostFilters::Declines(why) = of_group {
                    parts.push(format!("preemption: {why}"));
                    continue;
                }
                let preemption = dry_run(cycle, prepared, judgement);
                if preemption.nominates || preemption.failed {
                    let reported = profile.rules.fit_error != FitErrorFormat::Reasons;
                    return PostFilterResult { message: if reported { preemption.message } else { String::new() }, ..preemption };
                }
                parts.push(preemption.message);
            }
        }
    }
    if profile.rules.fit_error == FitErrorFormat::Reasons {
        return PostFilterResult::default();
    }
    parts.retain(|part| !part.is_empty());
    let message = parts.join(", ");
    parts.reverse();
    let equals = if profile.rules.post_filters_in_random_order() && parts.len() > 1 { vec![parts.join(", ")] } else { Vec::new() };
    PostFilterResult { message, equals, ..PostFilterResult::default() }
}

fn dry_run<'a>(cycle: &'a Cycle<'a>, prepared: &Prepared<'a>, judgement: &Judgement) -> PostFilterResult {
    let ineligible = |why: &str| PostFilterResult { message: format!("preemption: {why}"), ..PostFilterResult::default() };
    if cycle.pod.spec.never_preempts && cycle.profile.rules.preemption_never {
        return ineligible("not eligible due to preemptionPolicy=Never.");
    }
    if waits_for_victims(cycle, judgement) {
        return ineligible("not eligible due to a terminating pod on the nominated node.");
    }
    let nominated = cycle.nominated_pods();
    let stateless = cannot_take_off(cycle, prepared, judgement);
    let nodes: Vec<&NodeInfo> = judgement.nodes.iter().map(|node| cycle.state.node_by_id(node.id)).collect();
    let by_id: std::collections::HashMap<u32, &NodeJudgement> = judgement.nodes.iter().map(|node| (node.id, node)).collect();
    let together = units::apply(cycle.profile).then(|| DisruptionGroups::new(cycle.state, cycle.profile));
    let mut answers: Vec<DryRun> = in_parallel(cycle.state, &nodes, |node| {
        if !is_candidate(cycle, judgement, by_id[&node.id]) {
            return DryRun::Refused(vec![NOT_HELPFUL.to_owned()]);
        }
        if let Some(together) = &together {
            return match (units::lower(cycle, node, together), &stateless) {
                (Err(why), _) => DryRun::Failed(why),
                (Ok(lower), _) if lower.is_empty() => DryRun::Refused(vec![NO_VICTIMS.to_owned()]),
                (Ok(_), Some(error)) => DryRun::Failed(error.clone()),
                (Ok(lower), None) => answer(cycle, &units::Cleared::new(cycle, &nominated, prepared, node, &lower).verdicts()),
            };
        }
        let victims = lower_pods(node, cycle.pod.spec.priority);
        if victims.is_empty() {
            return DryRun::Refused(vec![NO_VICTIMS.to_owned()]);
        }
        if let Some(error) = &stateless {
            return DryRun::Failed(error.clone());
        }
        let verdicts = cycle.filter_node(&cleared(cycle, node, &victims), prepared, &nominated, Moved { removed: &victims, returned: &[] });
        answer(cycle, &verdicts)
    });
    if answers.iter().any(|answer| matches!(answer, DryRun::Fits)) {
        if kept(cycle, judgement) > 0 {
            let mut messages = placements(cycle, judgement).into_iter();
            return PostFilterResult {
                message: messages.next().unwrap_or_default(),
                equals: messages.collect(),
                nominates: true,
                failed: false,
            };
        }
        // A node that would fit but is not among the candidates kept has no status, like nodes that were not evaluated.
        answers.retain(|answer| cycle.profile.rules.absent_nodes_reported || !matches!(answer, DryRun::Fits));
    }
    let errors: BTreeSet<&str> = answers.iter().filter_map(DryRun::error).collect();
    match errors.into_iter().collect::<Vec<_>>().as_slice() {
        [] => {
            let reasons = histogram(answers.iter().flat_map(DryRun::reasons));
            ineligible(&format!("0/{} nodes are available: {reasons}.", answers.len()))
        }
        [one] => PostFilterResult { failed: true, ..ineligible(one) },
        several => PostFilterResult { failed: true, ..ineligible(&format!("[{}]", several.join(", "))) },
    }
}

/// Returns the texts for the nodes that may be picked, the best first, in releases that name the node.
fn placements(cycle: &Cycle, judgement: &Judgement) -> Vec<String> {
    if !cycle.profile.rules.names_picked_node() {
        return Vec::new();
    }
    let found = candidates(cycle, judgement);
    // Where not all candidates are kept, the best ones may not be among them.
    let all = found.len() > kept(cycle, judgement);
    let possible = found.iter().filter(|place| all || place.picked);
    let message = |place: &PreemptionCandidate| {
        let (node, victims) = (&place.node, place.victims.len());
        format!("preemption: found a potential placement for pod on node {node}, preempting {victims} victims")
    };
    possible.map(message).collect()
}

/// The result of removing the lower-priority pods from one node (upstream's `DryRunPreemption`).
enum DryRun {
    Fits,
    Refused(Vec<String>),
    Failed(String),
}

impl DryRun {
    fn reasons(&self) -> Vec<&str> {
        match self {
            DryRun::Refused(reasons) => reasons.iter().map(String::as_str).collect(),
            DryRun::Fits => vec![NOT_HELPFUL],
            DryRun::Failed(_) => Vec::new(),
        }
    }

    fn error(&self) -> Option<&str> {
        match self {
            DryRun::Failed(error) => Some(error),
            DryRun::Fits | DryRun::Refused(_) => None,
        }
    }
}

/// Reduces the filters' verdicts to a result: the first that rejects or fails, or, where all filters run, the first that fails or else all reasons.
fn answer(cycle: &Cycle, verdicts: &[Verdict]) -> DryRun {
    let all = cycle.profile.filter_mode == FilterMode::All;
    let mut reasons = Vec::new();
    for (verdict, entry) in verdicts.iter().zip(&cycle.profile.filters) {
        match verdict {
            Verdict::Error(error) => return DryRun::Failed(filter_error(cycle, entry.name, error)),
            Verdict::Reject(refusal) => reasons.extend(refusal.reasons.iter().map(|reason| reason.to_string())),
            _ => {}
        }
        if !all && !reasons.is_empty() {
            break;
        }
    }
    if reasons.is_empty() { DryRun::Fits } else { DryRun::Refused(reasons) }
}

/// Returns the error of removing a pod from a node where a PreFilter rejected the pod before other plugins wrote the CycleState that their RemovePod
/// changes. Profiles without such plugins after the one that rejects are evaluated as if every state were written.
fn cannot_take_off(cycle: &Cycle, prepared: &Prepared, judgement: &Judgement) -> Option<String> {
    let profile = cycle.profile;
    let Some(WholePod::Refused { plugin, refusal }) = &judgement.whole_pod else { return None };
    if !profile.rules.prefilter_refusal_unknown && !refusal.preemption_may_help {
        return None;
    }
    let mut refused = false;
    for name in profile.prefilters() {
        refused |= name == *plugin;
        let Some(at) = profile.filters.iter().position(|entry| entry.name == name) else { continue };
        let Some(error) = profile.filters[at].plugin.remove_pod_error(&profile.rules) else { continue };
        // Plugins that returned Skip are not called either; the patch releases that record no node statuses do not skip them.
        if refused || (profile.rules.prefilter_refusal_unknown && prepared.skips(at)) {
            return Some(format!("running RemovePod on PreFilter plugin \"{name}\": {error}"));
        }
    }
    None
}

/// Returns the pods of a node whose priority is below `priority`.
pub(crate) fn lower_pods(node: &NodeInfo, priority: i32) -> Vec<Arc<PodInfo>> {
    node.pods.iter().filter(|pod| pod.spec.priority < priority).cloned().collect()
}

pub(crate) fn cleared(cycle: &Cycle, node: &NodeInfo, pods: &[Arc<PodInfo>]) -> NodeInfo {
    let mut info = node.clone();
    pods.iter().for_each(|pod| info.simulate_remove(pod, cycle.state.rules(), cycle.profile.rules.sidecar_ports));
    info
}

/// Returns how many candidates preemption keeps of the nodes it tries: all, or a limited number from a random start
/// (`defaultpreemption/default_preemption.go` calculateNumCandidates).
pub(crate) fn kept(cycle: &Cycle, judgement: &Judgement) -> usize {
    let nodes = judgement.nodes.iter().filter(|node| is_candidate(cycle, judgement, node)).count();
    let (percentage, absolute) = cycle.profile.arguments.min_candidates;
    if cycle.profile.rules.keeps_some_candidates() { (nodes * percentage / 100).max(absolute).min(nodes) } else { nodes }
}

/// Whether preemption tries a node at all (upstream: its status is Unschedulable, not UnschedulableAndUnresolvable).
pub(crate) fn is_candidate(cycle: &Cycle, judgement: &Judgement, node: &NodeJudgement) -> bool {
    let rules = &cycle.profile.rules;
    match &judgement.whole_pod {
        Some(WholePod::Refused { refusal, .. }) => return refusal.preemption_may_help || rules.prefilter_refusal_unknown,
        Some(_) => return false,
        None => {}
    }
    if node.absent {
        return rules.preemption_candidates == PreemptionCandidates::AllButUnresolvable && !rules.filtered_out_reported;
    }
    !node.fits() && may_help(node, cycle.profile.filter_mode)
}

/// Whether preemption may resolve the rejections of a node: all of them where every filter ran, else the first.
fn may_help(node: &NodeJudgement, mode: FilterMode) -> bool {
    let mut refusals = node.verdicts.iter().filter_map(|verdict| match verdict {
        Verdict::Reject(refusal) => Some(refusal),
        _ => None,
    });
    match mode {
        FilterMode::All => refusals.all(|refusal| refusal.preemption_may_help),
        _ => refusals.next().is_some_and(|refusal| refusal.preemption_may_help),
    }
}

/// Whether an earlier preemption is under way: a pod of lower priority on the nominated node is terminating.
fn waits_for_victims(cycle: &Cycle, judgement: &Judgement) -> bool {
    let Some(nominated) = &cycle.pod.nominated_node_name else { return false };
    let Some(node) = cycle.state.node(nominated) else { return false };
    let evaluated = judgement.nodes.iter().find(|evaluated| evaluated.id == node.id);
    let rules = &cycle.profile.rules;
    let reported = rules.unresolvable_nodes_are_not_awaited() && !(rules.prefilter_refusal_unknown && judgement.whole_pod.is_some());
    let unresolvable =
        evaluated.is_some_and(|evaluated| evaluated.first_refusal().is_some() && !may_help(evaluated, cycle.profile.filter_mode));
    let by_condition = rules.awaits_preempted_pods() && cycle.profile.gates.on("PodDisruptionConditions");
    let hierarchy = Hierarchy::new(cycle.state, cycle.profile);
    let by_group = units::apply(cycle.profile);
    let priority = |pod: &PodInfo| if by_group { evict::priority(pod, hierarchy) } else { pod.spec.priority };
    let waits = |pod: &Arc<PodInfo>| pod.terminating && priority(pod) < cycle.pod.spec.priority && (!by_condition || pod.preempted);
    !(unresolvable && reported) && node.pods.iter().any(waits)
}
