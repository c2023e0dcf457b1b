//! The judgement of one pod from the cycle of its group.

use std::sync::Arc;

use crate::Profile;
use crate::cluster::{ClusterState, PodInfo, WatchedKind};
use crate::framework::{Cycle, GroupCaveat, GroupCycle, GroupOutcome, GroupScope, Judgement, PostFilters, Refusal, WholePod};

use super::final_status::FinalStatus;
use super::placement::PodGroupAlgorithmResult;
use super::preemption::PodGroupPostFilterResult;
use super::status::Status;
use super::turn::GroupTurn;
use super::{GroupEvaluation, KnownMembers, Mode, members};

/// Permit's message for a pod whose group lacks others, as `RunPermitPlugins` completes it.
const WAITING_MESSAGE: &str = "waiting for minCount pods from a gang to be scheduled";
const ASKED_TO_WAIT: &str = "one or more plugins asked to wait and no plugin rejected pod";

/// Evaluates a pod in the cycle of its group; `None` if there is none: it has no group, this release has no such cycle, or the pod is kept out of
/// the queue.
/// `known`: what is known of the pods of the group; `recorded`: the message written for the pod.
pub(crate) fn evaluate(
    pod: &Arc<PodInfo>,
    state: &mut ClusterState,
    profile: &Profile,
    known: &KnownMembers,
    recorded: Option<&str>,
) -> Option<GroupEvaluation> {
    if !profile.rules.group_cycles || Cycle::new(pod, state, profile).gated().is_some() {
        return None;
    }
    let root = members::group(pod, state, profile, known)?;
    let leaf = root.leaves().into_iter().find(|leaf| pod.spec.pod_group.as_ref() == Some(&leaf.id.name))?;
    let turn = GroupTurn { root: &root, leaf, pod };
    if let Some(why) = &root.aside {
        return Some(turn.kept_aside(state, why));
    }
    let mismatches = members::mismatches(&root, state);
    if let Some(error) = mismatches.iter().find(|error| recorded == Some(error.as_str())).or(mismatches.first()) {
        let outcome = PodGroupAlgorithmResult::failed(Status::Error(error.clone()));
        let mut cycle = turn.described(&outcome, None, state);
        let several = mismatches.iter().any(|other| other != error);
        cycle.inferred.extend(several.then_some(GroupCaveat::MismatchDrawn));
        return Some(turn.unreached(state, &outcome.status, cycle));
    }
    let mut outcome = root.run(state, Mode { post_filter: root.post_filters(), on_copies: false });
    turn.as_recorded(&mut outcome, recorded);
    let answer = root.preempt(state, &outcome);
    let mut cycle = turn.described(&outcome, answer.as_ref(), state);
    cycle.inferred.extend(members::inferred(&root).into_iter().chain(members::held_back(&root)));
    Some(turn.evaluation(state, outcome, answer.as_ref(), cycle))
}

impl GroupTurn<'_, '_> {
    /// Where no placement fits and upstream reports one at random: chooses the one whose message for the pod is the recorded one.
    fn as_recorded(&self, outcome: &mut PodGroupAlgorithmResult, recorded: Option<&str>) {
        let Some(recorded) = recorded else { return };
        let now = self.chosen(outcome);
        for choice in self.alternatives(self.root, outcome) {
            self.choose(outcome, &choice);
            if self.message(outcome, &self.final_status(outcome, None)).as_deref() == Some(recorded) {
                return;
            }
        }
        self.choose(outcome, &now);
    }

    /// Returns the message written for the pod; `None`: it is bound, no message is written.
    /// Source: `submitPodGroupAlgorithmResult`.
    fn message(&self, outcome: &PodGroupAlgorithmResult, final_status: &FinalStatus) -> Option<String> {
        let FinalStatus { after: status, waits, .. } = final_status;
        let Some(member) = self.member(outcome).filter(|_| final_status.own) else {
            return Some(self.reported_status(final_status).message());
        };
        let own = || member.tried.message.clone();
        match status {
            Status::Error(_) if matches!(member.judgement.whole_pod, Some(WholePod::Error(_))) => own(),
            Status::Error(error) => Some(error.clone()),
            _ if member.tried.node.is_none() => own(),
            _ if member.tried.preempts && *waits => own(),
            Status::Success => None,
            Status::Rejected { .. } if *waits => Some(status.message()),
            Status::Rejected { .. } if self.root.newer() => Some(Status::marked(&[&status.message()]).message()),
            Status::Rejected { .. } => {
                let waits = if member.permitted == Some(false) { vec![WAITING_MESSAGE, ASKED_TO_WAIT] } else { vec![""] };
                Some(Status::marked(&waits).message())
            }
        }
    }

    /// The status reported for a pod that has none of its own: 1.37 fills it in before preemption.
    fn reported_status<'s>(&self, final_status: &'s FinalStatus) -> &'s Status {
        let early = self.root.newer() && !matches!(final_status.after, Status::Error(_));
        if early { &final_status.before } else { &final_status.after }
    }

    fn evaluation(
        &self,
        state: &ClusterState,
        mut outcome: PodGroupAlgorithmResult,
        answer: Option<&PodGroupPostFilterResult>,
        mut cycle: GroupCycle,
    ) -> GroupEvaluation {
        let final_status = self.final_status(&outcome, answer);
        let message = self.message(&outcome, &final_status);
        cycle.inferred.extend(self.drawn(&mut outcome, answer, &message));
        let (reached, before) = self.reach(&outcome);
        let tried = reached.and_then(|reached| Some(&reached.tries[reached.chosen?].1));
        let place = tried.and_then(|tried| tried.members.iter().position(|member| member.tried.pod == self.pod.key()));
        let Some((tried, place)) = tried.zip(place) else { return self.unreached(state, self.reported_status(&final_status), cycle) };
        let member = &tried.members[place];
        let mut judgement = Judgement { message, ..member.judgement.clone() };
        let waits = member.permitted == Some(false) && final_status.after != Status::Success && !final_status.waits;
        judgement.permit = waits.then_some(WAITING_MESSAGE);
        judgement.group = Some(Box::new(cycle));
        let own: Vec<_> = tried.members[..place].iter().flat_map(|member| member.brings.clone()).collect();
        let claims = own.iter().filter(|(key, _)| key.kind == WatchedKind::ResourceClaim);
        let pending = claims.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect();
        let assumed = before.into_iter().flat_map(|member| member.brings.clone()).chain(own.iter().cloned()).collect();
        GroupEvaluation { judgement, scope: GroupScope { pending, ..tried.scope.clone() }, assumed }
    }

    /// The judgement of the pod alone, as it is reported.
    pub(super) fn judgement(
        &self,
        state: &ClusterState,
        outcome: &PodGroupAlgorithmResult,
        answer: Option<&PodGroupPostFilterResult>,
        cycle: GroupCycle,
    ) -> Judgement {
        let final_status = self.final_status(outcome, answer);
        let message = self.message(outcome, &final_status);
        match self.member(outcome) {
            Some(member) => Judgement { message, group: Some(Box::new(cycle)), ..member.judgement.clone() },
            None => self.unreached(state, self.reported_status(&final_status), cycle).judgement,
        }
    }

    /// The caveat where another placement may be reported with another message for the pod.
    fn drawn(
        &self,
        outcome: &mut PodGroupAlgorithmResult,
        answer: Option<&PodGroupPostFilterResult>,
        message: &Option<String>,
    ) -> Option<GroupCaveat> {
        let now = self.chosen(outcome);
        let differ = self.alternatives(self.root, outcome).iter().any(|choice| {
            self.choose(outcome, choice);
            self.message(outcome, &self.final_status(outcome, answer)) != *message
        });
        self.choose(outcome, &now);
        let (mut group, mut current) = (self.root, Some(&*outcome));
        while let Some(above) = current.filter(|outcome| outcome.drawn.len() < 2 || outcome.status == Status::Success) {
            let place = self.place_in(group)?;
            (group, current) = (&group.children[place], above.below().get(place));
        }
        let drawn = current.filter(|_| differ)?;
        let name = drawn.chosen.and_then(|at| drawn.tries[at].0.name.clone()).unwrap_or_default();
        Some(GroupCaveat::PlacementReported { name, tried: drawn.tries.len() })
    }

    /// The judgement of a pod that was not tried.
    fn unreached(&self, state: &ClusterState, status: &Status, cycle: GroupCycle) -> GroupEvaluation {
        let scope = GroupScope { post_filter: PostFilters::Skip, ..GroupScope::default() };
        let plain = Cycle { scope: Some(&scope), ..Cycle::new(self.pod, state, self.root.profile) };
        let whole = match status {
            Status::Error(error) => WholePod::Error(error.clone()),
            other => WholePod::Refused { plugin: "GangScheduling", refusal: Refusal::unschedulable(other.message()) },
        };
        let mut judgement: Judgement = plain.refused(whole);
        judgement.message = Some(status.message());
        judgement.group = Some(Box::new(cycle));
        GroupEvaluation { judgement, scope: GroupScope::default(), assumed: Vec::new() }
    }

    /// The judgement of a pod that is not tried until the groups above its own exist, where no other plugin keeps it out of the queue.
    fn kept_aside(&self, state: &ClusterState, error: &str) -> GroupEvaluation {
        let mut cycle = self.described(&PodGroupAlgorithmResult::failed(Status::Success), None, state);
        cycle.outcome = GroupOutcome::Unknown;
        cycle.unknown.push(GroupCaveat::KeptAside { error: error.to_owned() });
        let mut judgement = Cycle::new(self.pod, state, self.root.profile).evaluate();
        judgement.group = Some(Box::new(cycle));
        GroupEvaluation { judgement, scope: GroupScope::default(), assumed: Vec::new() }
    }
}
