//! What a group's cycle means for one of its pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey, Watched};
use crate::scheduler::Profile;
use crate::scheduler::cycle::Cycle;
use crate::scheduler::cycle::judgement::{Judgement, WholePod};
use crate::scheduler::plugin::Refusal;

use super::attempt::{Attempted, Tried};
use super::placement::Outcome;
use super::preemption::Answer;
use super::status::Status;
use super::{Group, GroupCycle, GroupOutcome, Judged, Mode, PlacementTried, PostFilters, Scope, have_cycles, members};

/// What Permit says of a pod whose group lacks others, as `RunPermitPlugins` completes it.
const WAITS: &str = "waiting for minCount pods from a gang to be scheduled";
const ASKED_TO_WAIT: &str = "one or more plugins asked to wait and no plugin rejected pod";

/// Judges a pod by the cycle of its group; `None` where there is none: it has no group, this release has no such cycle, or the pod is kept out of the queue.
/// `known`: where pods of the group are known to have gone; `recorded`: what was written about the pod.
pub fn judge(
    pod: &Arc<PodInfo>,
    state: &mut ClusterState,
    profile: &Profile,
    known: &BTreeMap<PodKey, Arc<str>>,
    recorded: Option<&str>,
) -> Option<Judged> {
    if !have_cycles(&profile.gates, profile.release.0) || Cycle::new(pod, state, profile).gated().is_some() {
        return None;
    }
    let group = members::group(pod, state, profile, known)?;
    if let Some(parent) = group.spec.parent_composite_pod_group_name.as_deref().filter(|_| profile.gates.on("CompositePodGroup")) {
        return Some(group.not_simulated(pod, state, parent));
    }
    let mismatches = members::mismatches(&group, state);
    if let Some(error) = mismatches.iter().find(|error| recorded == Some(error.as_str())).or(mismatches.first()) {
        let mut cycle = group.described(&Outcome::failed(Status::Error(error.clone())), None);
        let several = mismatches.iter().any(|other| other != error);
        cycle.inferred.extend(several.then(|| "which of the pods that differ from their group is told is drawn by chance".to_owned()));
        return Some(group.unreached(pod, state, &Status::Error(error.clone()), cycle));
    }
    let mut outcome = group.run(state, Mode { post_filter: group.post_filters(), on_copies: false });
    group.as_recorded(pod, &mut outcome, recorded);
    let before = outcome.status.clone();
    let answer = group.preempt(state, &outcome);
    let mut evicts = false;
    match &answer {
        Some(Answer::Helps { message, .. }) => {
            evicts = true;
            if group.newer() {
                outcome.status.append(message.clone());
            }
        }
        Some(Answer::Declines(why)) => outcome.status.append(why.clone()),
        Some(Answer::Fails { why, .. }) => outcome.status = Status::Error(why.clone()),
        Some(Answer::Unknown(_)) | None => {}
    }
    outcome.waits |= evicts;
    let mut cycle = group.described(&outcome, answer.as_ref());
    cycle.inferred.extend(members::inferred(&group.queue));
    Some(group.judged(pod, state, outcome, &before, cycle))
}

impl Group<'_> {
    /// Where no placement does and the one reported is drawn by chance: the one whose words for the pod are the recorded ones.
    fn as_recorded(&self, pod: &PodInfo, outcome: &mut Outcome, recorded: Option<&str>) {
        let Some(recorded) = recorded.filter(|_| outcome.drawn.len() > 1 && outcome.status != Status::Success && !outcome.waits) else {
            return;
        };
        let says = |at: &usize| self.message(pod, &outcome.tries[*at].1, outcome, &outcome.status).as_deref() == Some(recorded);
        let Some(at) = (0..outcome.tries.len()).find(says) else { return };
        outcome.status = self.none_available(outcome.tries.len(), &outcome.tries[at].1.status);
        outcome.chosen = Some(at);
    }

    /// What is written about the pod; `None`: nothing, it is bound. `before`: the group's status before preemption was tried.
    /// Source: `submitPodGroupAlgorithmResult`.
    fn message(&self, pod: &PodInfo, tried: &Tried, outcome: &Outcome, before: &Status) -> Option<String> {
        let status = &outcome.status;
        let Some(member) = tried.members.iter().find(|member| member.tried.pod == pod.key()) else {
            // 1.37 fills in what was not tried before it preempts.
            return Some(if self.newer() && !matches!(status, Status::Error(_)) { before.message() } else { status.message() });
        };
        let own = || member.tried.message.clone();
        match status {
            Status::Error(_) if matches!(member.judgement.whole_pod, Some(WholePod::Error(_))) => own(),
            Status::Error(error) => Some(error.clone()),
            _ if member.tried.node.is_none() => own(),
            _ if member.tried.preempts && outcome.waits => own(),
            Status::Success => None,
            Status::Rejected { .. } if outcome.waits => Some(status.message()),
            Status::Rejected { .. } if self.newer() => Some(Status::marked(&[&status.message()]).message()),
            Status::Rejected { .. } => {
                let waits = if member.permitted == Some(false) { vec![WAITS, ASKED_TO_WAIT] } else { vec![""] };
                Some(Status::marked(&waits).message())
            }
        }
    }

    fn judged(&self, pod: &Arc<PodInfo>, state: &mut ClusterState, mut outcome: Outcome, before: &Status, mut cycle: GroupCycle) -> Judged {
        let Some(at) = outcome.chosen else {
            let told = if self.newer() && !matches!(outcome.status, Status::Error(_)) { before } else { &outcome.status };
            return self.unreached(pod, state, told, cycle);
        };
        let message = self.message(pod, &outcome.tries[at].1, &outcome, before);
        if cycle.outcome != GroupOutcome::Scheduled && outcome.drawn.len() > 1 {
            let others = outcome.drawn.iter().filter(|other| **other != at);
            let differ = others.clone().any(|other| self.message(pod, &outcome.tries[*other].1, &outcome, before) != message);
            if differ {
                cycle.inferred.push(format!(
                    "the scheduler reports the first of {} placements it tries, in an order drawn by chance: here {}",
                    outcome.tries.len(),
                    cycle.placements[at].name.as_deref().unwrap_or_default()
                ));
            }
        }
        let tried = outcome.tries.swap_remove(at).1;
        let mut assumed = Vec::new();
        let mut own = None;
        for member in tried.members {
            if member.tried.pod == pod.key() {
                own = Some(member);
                break;
            }
            assumed.extend(member.brings);
        }
        let Some(member) = own else {
            let told = if self.newer() && !matches!(outcome.status, Status::Error(_)) { before } else { &outcome.status };
            let mut judged = self.unreached(pod, state, told, cycle);
            judged.judgement.message = message;
            return judged;
        };
        let Attempted { mut judgement, permitted, .. } = member;
        judgement.message = message;
        let waits = permitted == Some(false) && outcome.status != Status::Success && !outcome.waits;
        judgement.permit = waits.then_some(WAITS);
        judgement.group = Some(Box::new(cycle));
        let claims = assumed.iter().filter(|(key, _)| key.kind == Watched::ResourceClaim);
        let pending = claims.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect();
        Judged { judgement, scope: Scope { pending, ..tried.scope }, assumed }
    }

    /// The judgement of a pod that was not tried.
    fn unreached(&self, pod: &Arc<PodInfo>, state: &ClusterState, status: &Status, cycle: GroupCycle) -> Judged {
        let scope = Scope { post_filter: PostFilters::Skip, ..Scope::default() };
        let plain = Cycle { scope: Some(&scope), ..Cycle::new(pod, state, self.profile) };
        let whole = match status {
            Status::Error(error) => WholePod::Error(error.clone()),
            other => WholePod::Refused { plugin: "GangScheduling", refusal: Refusal::unschedulable(other.message()) },
        };
        let mut judgement: Judgement = plain.refused(whole);
        judgement.message = Some(status.message());
        judgement.group = Some(Box::new(cycle));
        Judged { judgement, scope: Scope::default(), assumed: Vec::new() }
    }

    /// Groups of groups (1.37, off by default).
    fn not_simulated(&self, pod: &Arc<PodInfo>, state: &ClusterState, parent: &str) -> Judged {
        let mut cycle = self.described(&Outcome::failed(Status::Success), None);
        cycle.outcome = GroupOutcome::Unknown;
        cycle.unknown.push(format!(
            "the group belongs to CompositePodGroup {parent}: the cycle of a group of groups is not simulated, the pod is judged as if it were alone"
        ));
        let mut judgement = Cycle::new(pod, state, self.profile).judge();
        judgement.group = Some(Box::new(cycle));
        Judged { judgement, scope: Scope::default(), assumed: Vec::new() }
    }

    fn described(&self, outcome: &Outcome, answer: Option<&Answer>) -> GroupCycle {
        let mut cycle = GroupCycle {
            name: self.name.to_string(),
            min_count: self.min_count(),
            scheduled: self.scheduled,
            order: self.queue.iter().map(|pod| pod.key()).collect(),
            topology_key: self.spec.topology_key().filter(|_| self.by_topology()).map(str::to_owned),
            placements: Vec::new(),
            chosen: outcome.chosen,
            tied: outcome.drawn.iter().copied().filter(|at| Some(*at) != outcome.chosen).collect(),
            outcome: match &outcome.status {
                Status::Success => GroupOutcome::Scheduled,
                Status::Error(_) => GroupOutcome::Error,
                Status::Rejected { .. } if outcome.waits => GroupOutcome::WaitsForPreemption,
                Status::Rejected { .. } => GroupOutcome::Unschedulable,
            },
            message: outcome.status.message(),
            victims: Vec::new(),
            inferred: Vec::new(),
            unknown: Vec::new(),
        };
        for (at, (placement, tried)) in outcome.tries.iter().enumerate() {
            cycle.placements.push(PlacementTried {
                name: placement.name.clone(),
                nodes: tried
                    .members
                    .first()
                    .map_or_else(|| placement.nodes.as_ref().map_or(0, |nodes| nodes.len()), |member| member.judgement.nodes.len()),
                members: tried.members.iter().map(|member| member.tried.clone()).collect(),
                feasible: tried.feasible(),
                message: tried.status.message(),
                scores: outcome.scores.get(&at).cloned().unwrap_or_default(),
            });
        }
        match answer {
            Some(Answer::Helps { victims, tied, .. }) => {
                cycle.victims.clone_from(victims);
                if *tied {
                    let why = "other pods may have to go for the group: that depends on what the scheduler draws by chance";
                    cycle.inferred.push(why.to_owned());
                }
            }
            Some(Answer::Fails { drawn: true, .. }) => {
                cycle.inferred.push("which of the nodes that are gone the error names is drawn by chance".to_owned());
            }
            Some(Answer::Unknown(why)) => cycle.unknown.push(why.clone()),
            _ => {}
        }
        cycle
    }
}

impl Outcome {
    /// One that ended before a pod was tried.
    pub fn failed(status: Status) -> Self {
        Self { tries: Vec::new(), chosen: None, drawn: Vec::new(), scores: BTreeMap::new(), status, waits: false }
    }
}
