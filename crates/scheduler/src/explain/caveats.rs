//! The caveats of an explanation: only what could change the result.

use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo};
use crate::explanation::{AssumedPod, Assumption, Attempt, AttemptOutcome, Caveat, NeighbourDoubt, StateSeen, UnreadObject, UnseenEnd};
use crate::framework::{Judgement, NodeJudgement, WholePod};
use crate::plugins::volume_restrictions::once_claims;
use crate::preemption::victims::PreemptionCandidate;
use crate::profile::scheduler::Scheduler;
use crate::volumes::claim_refs;
use crate::{Profile, Verdict, applied_release};

pub(super) struct Circumstances<'a> {
    /// The scheduler whose rules were applied.
    pub scheduler: &'a Scheduler,
    /// The profile applied.
    pub profile: &'a Profile,
    /// Whether that is the profile of the pod's `schedulerName`.
    pub own_profile: bool,
    /// The state evaluated.
    pub state: &'a ClusterState,
    /// The attempt.
    pub attempt: &'a Attempt,
    /// The judgement of the rules.
    pub judgement: &'a Judgement,
    /// The judgement of the state evaluated, without marks.
    pub certain: &'a Judgement,
    /// Whether our message is the recorded one.
    pub same_message: bool,
    /// The pods that were assumed.
    pub assumed: &'a [AssumedPod],
    /// The pods that may have been decided about on either side of the attempt.
    pub neighbours: &'a [NeighbourDoubt],
    /// Ends of pods that the attempt may not have seen.
    pub unseen_ends: &'a [UnseenEnd],
    /// Pods of the same `schedulerName` that were decided about near the attempt.
    pub alike: &'a [String],
    /// Whether no lock of the scheduler shows when its process began anew.
    pub untraced: bool,
    /// How the state was found, if it is not simply the revision before.
    pub found: Option<StateSeen>,
    /// The revision evaluated.
    pub evaluated_revision: i64,
    /// Whether the whole history was read.
    pub complete: bool,
}

/// Returns the caveats, the gravest first.
pub(super) fn caveats(of: &Circumstances) -> Vec<Caveat> {
    let mut found = Vec::new();
    let release = of.scheduler.version.release;
    if !of.own_profile {
        let requested = of.attempt.pod.spec.scheduler_name.clone();
        let (applied, others) = (of.profile.scheduler_name.clone(), of.alike.to_vec());
        found.push(Caveat::OtherProfile { requested, applied, others });
    }
    if applied_release(release) != release {
        found.push(Caveat::UnknownRelease { release, applied: applied_release(release) });
    }
    if applied_release(of.scheduler.recorded) != applied_release(release) {
        found.push(Caveat::OtherReleaseRecorded { applied: release, recorded: of.scheduler.recorded });
    }
    if of.attempt.event_only {
        found.push(if of.attempt.is_repeated() { Caveat::RepeatedRefusal } else { Caveat::EventOnly });
    }
    let hidden: Vec<AssumedPod> = of.assumed.iter().filter(|pod| pod.written > of.evaluated_revision).cloned().collect();
    if !hidden.is_empty() {
        found.push(Caveat::Assumed(hidden));
    }
    if !of.neighbours.is_empty() {
        found.push(Caveat::Neighbours(of.neighbours.to_vec()));
    }
    if !of.unseen_ends.is_empty() {
        found.push(Caveat::UnseenEnds(of.unseen_ends.to_vec()));
    }
    if of.untraced && found.iter().any(|caveat| matches!(caveat, Caveat::Assumed(_) | Caveat::Neighbours(_))) {
        found.push(Caveat::RestartsUntraced);
    }
    found.extend(of.found.map(|state| Caveat::StateSeen { state, revision: of.evaluated_revision }));
    unknown_rules(of, &mut found);
    found.extend(one_of_several(of));
    found.extend(miscounted_claims(of));
    if !of.same_message && of.attempt.outcome == AttemptOutcome::Unschedulable && of.judgement.message.is_some() {
        found.push(Caveat::OtherMessage);
    }
    found.extend(other_messages(of));
    found.extend(unseen(of.judgement).filter(|_| of.attempt.outcome != AttemptOutcome::Unschedulable));
    found.extend(of.judgement.nominated.clone().map(Caveat::Nominated));
    if !of.complete
        && of.judgement.scores.as_ref().is_some_and(|scores| {
            scores.plugins.iter().any(|score| score.plugin.starts_with("ImageLocality") && score.raw.iter().any(|raw| *raw != 0))
        })
    {
        found.push(Caveat::ImageHistoryCompacted);
    }
    found.extend(doubtful_scores(of.certain));
    found.extend(batched(of));
    found
}

/// The caveat that a node which is not the best may have been reused from a pod with the same signature.
fn batched(of: &Circumstances) -> Option<Caveat> {
    let (node, scores) = (of.attempt.node.as_ref()?, of.judgement.scores.as_ref()?);
    (of.judgement.batched && !scores.best().any(|best| best == node)).then(|| Caveat::NextBest(node.clone()))
}

/// Returns what is assumed of the scheduler itself, whatever it decided.
pub(super) fn assumptions(scheduler: &Scheduler, profile: &Profile) -> Vec<Assumption> {
    let default = (!scheduler.configured).then_some(Assumption::DefaultProfile(profile.release));
    profile.unverifiable.iter().cloned().map(Assumption::Unverifiable).chain(default).collect()
}

/// The caveat with other possible messages, where upstream's choice is random and nothing recorded decides.
fn other_messages(of: &Circumstances) -> Option<Caveat> {
    let is_recorded = of.same_message && of.attempt.recorded_message.is_some();
    let others = &of.judgement.equal_messages;
    (!others.is_empty() && of.judgement.message.is_some() && !is_recorded).then(|| Caveat::EqualMessages(others.clone()))
}

/// The caveat that the scheduler stops before it has evaluated every node that fits, and what depends on which it evaluated.
fn unseen(judgement: &Judgement) -> Option<Caveat> {
    let sample = judgement.sample;
    if sample.unseen() == 0 || judgement.nominated.is_some() {
        return None;
    }
    let fails = |node: &&NodeJudgement| node.stop().is_some_and(|at| matches!(node.verdicts[at], Verdict::Error(_)));
    let failing = judgement.nodes.iter().find(fails).map(|node| node.name.clone());
    let compared = judgement.scores.iter().flat_map(|scores| &scores.plugins).filter(|score| score.sampled);
    Some(Caveat::Sampled { sample, failing, plugins: compared.map(|score| score.plugin).collect() })
}

/// The caveat that 1.17 reports only one reason for a node, and checks extended resources in a map's order.
fn one_of_several(of: &Circumstances) -> Option<Caveat> {
    let request = of.profile.rules.requests.incoming(&of.attempt.pod).scalars;
    if !of.profile.rules.one_reason_a_node() || request.len() < 2 {
        return None;
    }
    let in_doubt = |node: &&NodeJudgement| {
        let named =
            node.first_refusal().and_then(|(_, refusal)| refusal.reasons.first()).and_then(|reason| reason.strip_prefix("Insufficient "));
        let info = of.state.node_by_id(node.id);
        let lacks = |name: &str, amount: i64| info.allocatable.get(name) < amount + info.requested.get(name);
        let lacking = request.iter().filter(|(name, amount)| lacks(name, *amount)).count();
        lacking > 1 && named.is_some_and(|named| request.iter().any(|(name, _)| &**name == named))
    };
    let nodes = names(of.judgement.nodes.iter().filter(in_doubt).map(|node| &node.name))?;
    Some(Caveat::OneOfSeveralResources { nodes })
}

/// The names, if there are any.
fn names<'a>(nodes: impl Iterator<Item = &'a Arc<str>>) -> Option<Vec<Arc<str>>> {
    let names: Vec<_> = nodes.cloned().collect();
    (!names.is_empty()).then_some(names)
}

/// The caveat that 1.22 to 1.24 share the count of a claim's users with the copies of a node that preemption removes pods from and nominations add
/// pods to (`framework/types.go` NodeInfo.Clone), so that it may be too low or too high.
fn miscounted_claims(of: &Circumstances) -> Option<Caveat> {
    let pod = &of.attempt.pod;
    if !of.profile.rules.copies_share_claim_counts() || !of.profile.gates.on("ReadWriteOncePod") {
        return None;
    }
    let once = once_claims(pod, of.state).ok().filter(|once| !once.is_empty())?;
    let refused = matches!(&of.judgement.whole_pod, Some(WholePod::Refused { plugin: "VolumeRestrictions", .. }));
    let uses = |other: &PodInfo| other.namespace == pod.namespace && claim_refs(other, false).any(|claim| once.contains(&claim.name));
    let nominated = of.state.nominated().any(|other| uses(other));
    let (release, claim) = (of.profile.release, once.first()?.clone());
    if refused {
        Some(Caveat::ClaimUseForgotten { release, claim })
    } else {
        nominated.then_some(Caveat::ClaimUseOvercounted { release, claim })
    }
}

fn doubtful_scores(judgement: &Judgement) -> impl Iterator<Item = Caveat> {
    judgement.scores.iter().flat_map(|scores| {
        let doubtful = scores.plugins.iter().filter(|score| !score.doubtful.is_empty() && !score.sampled);
        doubtful.map(|score| Caveat::UncertainScore {
            plugin: score.plugin,
            nodes: score.doubtful.iter().map(|at| scores.nodes[*at].clone()).collect(),
        })
    })
}

/// The caveat that others may be the victims: equally important pods, whose order only the scheduler's cache knows.
pub(super) fn equal_victims(preemption: &[PreemptionCandidate]) -> Option<Caveat> {
    let nodes = names(preemption.iter().filter(|place| place.picked && place.tied).map(|place| &place.node))?;
    Some(Caveat::EqualVictims { nodes })
}

/// The caveat that others may be the victims: 1.18 and 1.37 take budgets, and 1.37 pods of one group, in random order.
pub(super) fn budgets_in_any_order(preemption: &[PreemptionCandidate]) -> Option<Caveat> {
    let nodes = names(preemption.iter().filter(|place| place.drawn).map(|place| &place.node))?;
    Some(Caveat::BudgetOrder { nodes })
}

/// The caveat that another node may be picked: preemption stops before it has tried all candidates.
pub(super) fn unseen_candidates(kept: usize, candidates: usize) -> Option<Caveat> {
    (kept < candidates).then_some(Caveat::PreemptionSampled { kept, candidates })
}

/// Adds what the rules do not know of this state.
fn unknown_rules(of: &Circumstances, found: &mut Vec<Caveat>) {
    let fitting = of.judgement.nodes.iter().filter(|node| node.fits());
    let unknown: Vec<&NodeJudgement> = fitting.filter(|node| node.unknown().is_some()).collect();
    if let Some(missing) = unknown.first().and_then(|first| first.unknown()) {
        let nodes = unknown.iter().map(|node| node.name.clone()).collect();
        found.push(Caveat::UnknownFilters { nodes, missing: missing.to_owned() });
    }
    for (plugin, missing) in of.judgement.scores.iter().flat_map(|scores| &scores.unknown) {
        found.push(Caveat::UnknownScore { plugin, missing: missing.clone() });
    }
    if let (Some(WholePod::Error(_)), AttemptOutcome::Scheduled) = (&of.judgement.whole_pod, of.attempt.outcome) {
        found.push(Caveat::EndsWithError);
    }
    let unread = unread(of);
    if !unread.is_empty() {
        found.push(Caveat::Unread(unread));
    }
    if let Some(group) = &of.judgement.group {
        found.extend(group.caveats().into_iter().map(Caveat::Group));
    } else {
        found.extend(of.judgement.permit.map(Caveat::WaitsOnPermit));
    }
}

/// The objects that could not be read and may matter.
fn unread(of: &Circumstances) -> Vec<UnreadObject> {
    // A pod that is on no node changes nothing for another one.
    let matters = |object: &str| match object.strip_prefix("pods/").and_then(|path| path.split_once('/')) {
        Some((namespace, name)) => {
            let own = *of.attempt.pod.namespace == *namespace && *of.attempt.pod.name == *name;
            let idle = of.state.unreadable_pods().any(|pod| pod.idle && pod.key.path() == object);
            own || !idle && of.state.pod(namespace, name).is_none_or(|pod| pod.is_on_node())
        }
        None => true,
    };
    let own = format!("pods/{}", of.attempt.pod.full_name());
    let mut problems: Vec<_> = of.state.problems().filter(|problem| matters(&problem.object)).collect();
    // Problems of the pod itself come first.
    problems.sort_by_cached_key(|problem| (problem.object != own, format!("{}: {}", problem.object, problem.what)));
    problems.dedup();
    let unread = of.judgement.unread.iter().filter(|unread| !of.state.problems().any(|problem| problem.object == unread.key.path()));
    problems.into_iter().cloned().map(UnreadObject::Problem).chain(unread.cloned().map(UnreadObject::Unreadable)).collect()
}
