//! What a group's cycle means for one of its pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey, Watched};
use crate::scheduler::Profile;
use crate::scheduler::cycle::Cycle;
use crate::scheduler::cycle::judgement::{Judgement, WholePod};
use crate::scheduler::plugin::Refusal;

use super::attempt::{Attempted, Tried};
use super::placement::{Outcome, Placement};
use super::preemption::Answer;
use super::status::Status;
use super::{
    CompositeTried, Group, GroupCycle, GroupId, GroupOutcome, Judged, Mode, PlacementTried, PostFilters, Scope, have_cycles, members,
};

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
    let root = members::group(pod, state, profile, known)?;
    let leaf = root.leaves().into_iter().find(|leaf| pod.spec.pod_group.as_ref() == Some(&leaf.id.name))?;
    let turn = Turn { root: &root, leaf, pod };
    if let Some(why) = &root.aside {
        return Some(turn.kept_aside(state, why));
    }
    let mismatches = members::mismatches(&root, state);
    if let Some(error) = mismatches.iter().find(|error| recorded == Some(error.as_str())).or(mismatches.first()) {
        let outcome = Outcome::failed(Status::Error(error.clone()));
        let mut cycle = turn.described(&outcome, None, state);
        let several = mismatches.iter().any(|other| other != error);
        cycle.inferred.extend(several.then(|| "which of the pods that differ from their group is told is drawn by chance".to_owned()));
        return Some(turn.unreached(state, &outcome.status, cycle));
    }
    let mut outcome = root.run(state, Mode { post_filter: root.post_filters(), on_copies: false });
    turn.as_recorded(&mut outcome, recorded);
    let answer = root.preempt(state, &outcome);
    let mut cycle = turn.described(&outcome, answer.as_ref(), state);
    cycle.inferred.extend(members::inferred(&root).into_iter().chain(members::held_back(&root)));
    Some(turn.judged(state, outcome, answer.as_ref(), cycle))
}

/// A pod's turn in the cycle of its group.
struct Turn<'g, 'a> {
    /// What is tried at once.
    root: &'g Group<'a>,
    /// The pod's own group: the same, or one below it.
    leaf: &'g Group<'a>,
    pod: &'g Arc<PodInfo>,
}

/// What stands for the pod's group in the end.
struct Standing {
    /// Its status before preemption was tried.
    before: Status,
    /// And after that.
    after: Status,
    /// Whether it is the group's own, not that of one above it.
    own: bool,
    /// Whether the group waits for victims to go.
    waits: bool,
}

/// What stands for every group of a tree: a group that was not tried, or fits while the one above does not, has the status of that one.
/// Source: `completeCompositePodGroupAlgorithmResultMap` (1.37).
#[derive(Default)]
struct Settled {
    /// Each status with how many groups have it.
    statuses: Vec<(Status, usize)>,
    /// Which of them the pod's group has, and whether it is its own.
    leaf: Option<(usize, bool)>,
}

impl Settled {
    fn settle(&mut self, group: &Group, outcome: Option<&Outcome>, above: usize, leaf: &GroupId) {
        let fails = self.statuses[above].0 != Status::Success;
        let own = outcome.filter(|outcome| !fails || outcome.status != Status::Success);
        let at = own.map_or(above, |outcome| {
            self.statuses.push((outcome.status.clone(), 0));
            self.statuses.len() - 1
        });
        self.statuses[at].1 += 1;
        if group.id == *leaf {
            self.leaf = Some((at, own.is_some()));
        }
        let below = outcome.map_or(&[][..], Outcome::below);
        for (place, child) in group.children.iter().enumerate() {
            self.settle(child, below.get(place), at, leaf);
        }
    }
}

impl Turn<'_, '_> {
    fn standing(&self, outcome: &Outcome, answer: Option<&Answer>) -> Standing {
        let mut settled = Settled { statuses: vec![(Status::Success, 0)], leaf: None };
        settled.settle(self.root, Some(outcome), 0, &self.leaf.id);
        let (at, own) = settled.leaf.unwrap_or((0, false));
        let (before, shared) = settled.statuses.swap_remove(at);
        let mut after = before.clone();
        // What is said is added once for each group that shares the status (`applyPodGroupPostFilterResult`).
        let mut say = |what: &String| (0..shared).for_each(|_| after.append(what.clone()));
        match answer {
            Some(Answer::Helps { message, .. }) if self.root.newer() => say(message),
            Some(Answer::Declines(why)) => say(why),
            Some(Answer::Fails { why, .. }) => after = Status::Error(why.clone()),
            _ => {}
        }
        Standing { before, after, own, waits: outcome.waits || matches!(answer, Some(Answer::Helps { .. })) }
    }

    /// What came of the pod's group, if it was tried, and which pods of other groups were given nodes before.
    fn reach<'o>(&self, outcome: &'o Outcome) -> (Option<&'o Outcome>, Vec<&'o Attempted>) {
        let (mut group, mut reached, mut before) = (self.root, Some(outcome), Vec::new());
        while let Some(place) = self.place_in(group) {
            let below = reached.map_or(&[][..], Outcome::below);
            before.extend(below.iter().take(place).flat_map(Outcome::kept));
            (group, reached) = (&group.children[place], below.get(place));
        }
        (reached, before)
    }

    /// Which of a composite group's groups the pod's is, or is below.
    fn place_in(&self, group: &Group) -> Option<usize> {
        group.children.iter().position(|child| child.leaves().iter().any(|leaf| leaf.id == self.leaf.id))
    }

    /// What else may be reported, each by the placement of every group on the way down: where none does, the first that is tried, in an order
    /// drawn by chance.
    fn alternatives(&self, group: &Group, outcome: &Outcome) -> Vec<Vec<usize>> {
        let drawn = outcome.drawn.len() > 1 && outcome.status != Status::Success && !outcome.waits;
        let choices = if drawn { outcome.drawn.clone() } else { outcome.chosen.into_iter().collect() };
        let mut found = Vec::new();
        for at in choices {
            let place = self.place_in(group);
            let below = place.and_then(|place| Some((&group.children[place], outcome.tries[at].1.groups.get(place)?)));
            let rest = below.map_or_else(|| vec![Vec::new()], |(child, below)| self.alternatives(child, below));
            found.extend(rest.into_iter().map(|rest| [at].into_iter().chain(rest).collect()));
        }
        found
    }

    /// The placement that is reported of every group on the way down.
    fn chosen(&self, outcome: &Outcome) -> Vec<usize> {
        let (mut group, mut reached, mut found) = (self.root, Some(outcome), Vec::new());
        while let Some(outcome) = reached {
            found.extend(outcome.chosen);
            let Some(place) = self.place_in(group) else { break };
            (group, reached) = (&group.children[place], outcome.below().get(place));
        }
        found
    }

    /// Reports another placement.
    fn choose(&self, outcome: &mut Outcome, choice: &[usize]) {
        let (mut group, mut outcome, mut choice) = (self.root, outcome, choice);
        while let [at, rest @ ..] = choice {
            if outcome.chosen != Some(*at) {
                outcome.status = group.none_available(outcome.tries.len(), &outcome.tries[*at].1.status);
                outcome.chosen = Some(*at);
            }
            let Some(place) = self.place_in(group) else { return };
            let Some(below) = outcome.tries[*at].1.groups.get_mut(place) else { return };
            (group, outcome, choice) = (&group.children[place], below, rest);
        }
    }

    /// Where no placement does and the one reported is drawn by chance: the one whose words for the pod are the recorded ones.
    fn as_recorded(&self, outcome: &mut Outcome, recorded: Option<&str>) {
        let Some(recorded) = recorded else { return };
        let now = self.chosen(outcome);
        for choice in self.alternatives(self.root, outcome) {
            self.choose(outcome, &choice);
            if self.message(outcome, &self.standing(outcome, None)).as_deref() == Some(recorded) {
                return;
            }
        }
        self.choose(outcome, &now);
    }

    /// What is written about the pod; `None`: nothing, it is bound.
    /// Source: `submitPodGroupAlgorithmResult`.
    fn message(&self, outcome: &Outcome, standing: &Standing) -> Option<String> {
        let Standing { after: status, waits, .. } = standing;
        let Some(member) = self.member(outcome).filter(|_| standing.own) else { return Some(self.told(standing).message()) };
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
                let waits = if member.permitted == Some(false) { vec![WAITS, ASKED_TO_WAIT] } else { vec![""] };
                Some(Status::marked(&waits).message())
            }
        }
    }

    /// The status that a pod is told whose own counts for nothing: 1.37 fills it in before it preempts.
    fn told<'s>(&self, standing: &'s Standing) -> &'s Status {
        let early = self.root.newer() && !matches!(standing.after, Status::Error(_));
        if early { &standing.before } else { &standing.after }
    }

    /// What came of the pod itself, if it was tried.
    fn member<'o>(&self, outcome: &'o Outcome) -> Option<&'o Attempted> {
        let reached = self.reach(outcome).0?;
        reached.tries[reached.chosen?].1.members.iter().find(|member| member.tried.pod == self.pod.key())
    }

    fn judged(&self, state: &ClusterState, mut outcome: Outcome, answer: Option<&Answer>, mut cycle: GroupCycle) -> Judged {
        let standing = self.standing(&outcome, answer);
        let message = self.message(&outcome, &standing);
        cycle.inferred.extend(self.drawn(&mut outcome, answer, &message));
        let (reached, before) = self.reach(&outcome);
        let tried = reached.and_then(|reached| Some(&reached.tries[reached.chosen?].1));
        let place = tried.and_then(|tried| tried.members.iter().position(|member| member.tried.pod == self.pod.key()));
        let Some((tried, place)) = tried.zip(place) else { return self.unreached(state, self.told(&standing), cycle) };
        let member = &tried.members[place];
        let mut judgement = Judgement { message, ..member.judgement.clone() };
        let waits = member.permitted == Some(false) && standing.after != Status::Success && !standing.waits;
        judgement.permit = waits.then_some(WAITS);
        judgement.group = Some(Box::new(cycle));
        let own: Vec<_> = tried.members[..place].iter().flat_map(|member| member.brings.clone()).collect();
        let claims = own.iter().filter(|(key, _)| key.kind == Watched::ResourceClaim);
        let pending = claims.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect();
        let assumed = before.into_iter().flat_map(|member| member.brings.clone()).chain(own.iter().cloned()).collect();
        Judged { judgement, scope: Scope { pending, ..tried.scope.clone() }, assumed }
    }

    /// What is said where another placement may be reported with other words for the pod.
    fn drawn(&self, outcome: &mut Outcome, answer: Option<&Answer>, message: &Option<String>) -> Option<String> {
        let now = self.chosen(outcome);
        let differ = self.alternatives(self.root, outcome).iter().any(|choice| {
            self.choose(outcome, choice);
            self.message(outcome, &self.standing(outcome, answer)) != *message
        });
        self.choose(outcome, &now);
        let (mut group, mut told) = (self.root, Some(&*outcome));
        while let Some(above) = told.filter(|outcome| outcome.drawn.len() < 2 || outcome.status == Status::Success) {
            let place = self.place_in(group)?;
            (group, told) = (&group.children[place], above.below().get(place));
        }
        let drawn = told.filter(|_| differ)?;
        let name = drawn.chosen.and_then(|at| drawn.tries[at].0.name.as_deref()).unwrap_or_default();
        let tries = drawn.tries.len();
        Some(format!("the scheduler reports the first of {tries} placements it tries, in an order drawn by chance: here {name}"))
    }

    /// The judgement of a pod that was not tried.
    fn unreached(&self, state: &ClusterState, status: &Status, cycle: GroupCycle) -> Judged {
        let scope = Scope { post_filter: PostFilters::Skip, ..Scope::default() };
        let plain = Cycle { scope: Some(&scope), ..Cycle::new(self.pod, state, self.root.profile) };
        let whole = match status {
            Status::Error(error) => WholePod::Error(error.clone()),
            other => WholePod::Refused { plugin: "GangScheduling", refusal: Refusal::unschedulable(other.message()) },
        };
        let mut judgement: Judgement = plain.refused(whole);
        judgement.message = Some(status.message());
        judgement.group = Some(Box::new(cycle));
        Judged { judgement, scope: Scope::default(), assumed: Vec::new() }
    }

    /// The judgement of a pod that is not tried before the groups above its own are there, where nothing else keeps it from the queue.
    fn kept_aside(&self, state: &ClusterState, why: &str) -> Judged {
        let mut cycle = self.described(&Outcome::failed(Status::Success), None, state);
        cycle.outcome = GroupOutcome::Unknown;
        cycle.unknown.push(format!("the scheduler keeps the pod aside ({why}): here it is judged as if it were alone"));
        let mut judgement = Cycle::new(self.pod, state, self.root.profile).judge();
        judgement.group = Some(Box::new(cycle));
        Judged { judgement, scope: Scope::default(), assumed: Vec::new() }
    }

    fn described(&self, outcome: &Outcome, answer: Option<&Answer>, state: &ClusterState) -> GroupCycle {
        let (reached, before) = self.reach(outcome);
        let (leaf, standing) = (self.leaf, self.standing(outcome, answer));
        let mut cycle = GroupCycle {
            name: leaf.id.name.to_string(),
            min_count: leaf.min_count(),
            scheduled: leaf.scheduled,
            order: leaf.queue.iter().map(|pod| pod.key()).collect(),
            topology_key: leaf.topology_key(),
            placements: reached.map(|reached| reached.described(state)).unwrap_or_default(),
            chosen: reached.and_then(|reached| reached.chosen),
            tied: reached.map(Outcome::tied).unwrap_or_default(),
            above: self.above(outcome, state),
            before: before.into_iter().map(|member| member.tried.clone()).collect(),
            outcome: match &standing.after {
                Status::Success => GroupOutcome::Scheduled,
                Status::Error(_) => GroupOutcome::Error,
                Status::Rejected { .. } if standing.waits => GroupOutcome::WaitsForPreemption,
                Status::Rejected { .. } => GroupOutcome::Unschedulable,
            },
            message: standing.after.message(),
            victims: Vec::new(),
            inferred: Vec::new(),
            unknown: Vec::new(),
        };
        match answer {
            Some(Answer::Helps { victims, tied, .. }) => {
                cycle.victims.clone_from(victims);
                if *tied {
                    let why = "other pods may have to go for the group: that depends on what the scheduler draws by chance";
                    cycle.inferred.push(why.to_owned());
                }
            }
            Some(Answer::Fails { drawn: true, .. }) => {
                cycle.inferred.push("which node or pod the error names is drawn by chance".to_owned());
            }
            Some(Answer::Unknown(why)) => cycle.unknown.push(why.clone()),
            _ => {}
        }
        cycle
    }

    /// What became of the groups above the pod's, the topmost first.
    fn above(&self, outcome: &Outcome, state: &ClusterState) -> Vec<CompositeTried> {
        let (mut group, mut reached, mut above) = (self.root, Some(outcome), Vec::new());
        while let Some(place) = self.place_in(group) {
            let below = reached.map_or(&[][..], Outcome::below);
            let fits = |at: usize| below.get(at).map(|outcome| outcome.status == Status::Success);
            above.push(CompositeTried {
                name: group.id.name.clone(),
                min_group_count: group.min_count(),
                groups: group.children.iter().enumerate().map(|(at, child)| (child.id.name.clone(), fits(at))).collect(),
                topology_key: group.topology_key(),
                placements: reached.map(|reached| reached.described(state)).unwrap_or_default(),
                chosen: reached.and_then(|reached| reached.chosen),
                tied: reached.map(Outcome::tied).unwrap_or_default(),
                fits: reached.is_some_and(|reached| reached.status == Status::Success),
                message: reached.map(|reached| reached.status.message()).unwrap_or_default(),
            });
            (group, reached) = (&group.children[place], below.get(place));
        }
        above
    }
}

impl Group<'_> {
    /// The label whose values tell placements apart, if any does.
    fn topology_key(&self) -> Option<String> {
        self.spec.topology_key().filter(|_| self.by_topology()).map(str::to_owned)
    }
}

impl Outcome {
    /// One that ended before a pod was tried.
    pub fn failed(status: Status) -> Self {
        Self { tries: Vec::new(), chosen: None, drawn: Vec::new(), scores: BTreeMap::new(), status, waits: false }
    }

    /// What the groups below came to, those that were tried; nothing is kept of them after an error.
    fn below(&self) -> &[Self] {
        let chosen = self.chosen.filter(|_| !matches!(self.status, Status::Error(_)));
        chosen.map_or(&[], |at| &self.tries[at].1.groups)
    }

    fn tied(&self) -> Vec<usize> {
        self.drawn.iter().copied().filter(|at| Some(*at) != self.chosen).collect()
    }

    fn described(&self, state: &ClusterState) -> Vec<PlacementTried> {
        let described = |(at, (placement, tried)): (usize, &(Placement, Tried))| {
            let seen = tried.members.first().map(|member| member.judgement.nodes.len());
            let of_groups = || if tried.groups.is_empty() { 0 } else { state.node_count() };
            PlacementTried {
                name: placement.name.clone(),
                nodes: seen.unwrap_or_else(|| placement.nodes.as_ref().map_or_else(of_groups, BTreeSet::len)),
                members: tried.members.iter().map(|member| member.tried.clone()).collect(),
                feasible: tried.feasible(),
                message: tried.status.message(),
                scores: self.scores.get(&at).cloned().unwrap_or_default(),
            }
        };
        self.tries.iter().enumerate().map(described).collect()
    }
}
