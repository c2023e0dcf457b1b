//! One attempt to schedule a group on one placement: its pods, or its child groups, one after the other, each assumed before the next.

use std::sync::Arc;

use crate::cluster::{CachedObject, Claim, ClusterState, NodeAllocatableClaim, NodeInfo, ObjectKey, PodInfo, UndoLog, WatchedKind};
use crate::dra::claim_name;
use crate::framework::{Cycle, GroupScope, Judgement, MemberResult, NodeJudgement, PlacementDoubt, PostFilters, WholePod};
use crate::plugins::dynamic_resources::Wanted;
use crate::plugins::volume_binding::reserved as volumes_reserved;
use crate::preemption::victims;

use super::placement::PodGroupAlgorithmResult;
use super::status::Status;
use super::{Group, Mode, ParentScope, object_key};

pub(crate) struct GroupAttempt {
    /// Each pod that was tried.
    pub members: Vec<PodAttempt>,
    /// The result of each child group that was tried.
    pub groups: Vec<PodGroupAlgorithmResult>,
    /// The group's status.
    pub status: Status,
    /// Whether the group fits once victims are evicted.
    pub waits: bool,
    /// The scope its pods were evaluated in.
    pub scope: GroupScope,
}

pub(crate) struct PodAttempt {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// The judgement of the rules.
    pub judgement: Judgement,
    /// The result as it is reported.
    pub tried: MemberResult,
    /// The pods that it preempts on its node by itself (1.36).
    pub victims: Vec<Arc<PodInfo>>,
    /// Whether Permit allows it; `None` where it found no node.
    pub permitted: Option<bool>,
    /// The objects as assumed: the pod on its node, its claims with their devices, its volumes until they are bound.
    pub brings: Vec<(ObjectKey, CachedObject)>,
}

impl PodAttempt {
    /// Returns the pod as assumed: as if it were bound to its node (upstream's `assume`).
    pub(crate) fn assumed(&self) -> Option<Arc<PodInfo>> {
        let node = self.tried.node.clone()?;
        Some(Arc::new(PodInfo { node_name: Some(node), ..(*self.pod).clone() }))
    }
}

impl GroupAttempt {
    /// An attempt that ended before a pod was tried.
    pub(crate) fn without_pods(status: Status) -> Self {
        Self { members: Vec::new(), groups: Vec::new(), status, waits: false, scope: GroupScope::default() }
    }

    /// Returns the pods that get nodes from it, including those of child groups that fit.
    pub(crate) fn given(&self) -> Vec<&PodAttempt> {
        let own = self.members.iter().filter(|member| member.tried.node.is_some());
        own.chain(self.groups.iter().flat_map(PodGroupAlgorithmResult::kept)).collect()
    }

    /// Whether the group fits, now or after a preemption.
    pub(crate) fn feasible(&self) -> bool {
        self.status == Status::Success || self.waits
    }
}

impl Group<'_> {
    /// `podGroupSchedulingDefaultAlgorithm`, `compositePodGroupSchedulingDefaultAlgorithm`. The state is as it was afterwards.
    pub(crate) fn try_on(&self, state: &mut ClusterState, around: &ParentScope, mode: Mode) -> GroupAttempt {
        let (Mode { post_filter, on_copies }, ParentScope { within, elsewhere }) = (mode, around.clone());
        let (listed, scheduled) = (self.listed.clone(), self.scheduled);
        let scope = GroupScope { within, post_filter, listed, elsewhere, scheduled, on_copies, ..GroupScope::default() };
        let mut state = UndoLog::new(state);
        let mut tried = GroupAttempt { scope, ..GroupAttempt::without_pods(Status::marked(&[])) };
        if self.id.composite {
            self.groups_in_turn(&mut state, around, mode, &mut tried);
        } else if self.newer() {
            self.until_decided(&mut state, &mut tried);
        } else {
            self.all_in_turn(&mut state, &mut tried);
        }
        tried
    }

    /// Tries a composite group: PlacementFeasible reports after each child group whether the composite group can still fit.
    fn groups_in_turn(&self, state: &mut ClusterState, around: &ParentScope, mode: Mode, tried: &mut GroupAttempt) {
        let mut around = around.clone();
        let (mut left, mut fitting) = (self.children.len(), 0);
        tried.status = self.progress(left, fitting).status();
        if matches!(tried.status, Status::Rejected { marked: false, .. }) {
            return;
        }
        for child in &self.children {
            let outcome = child.run_within(state, &around, mode);
            if let Status::Error(error) = &outcome.status {
                tried.status = Status::Error(format!("composite pod group evaluation failed due to child error: {error}"));
                tried.groups.push(outcome);
                return;
            }
            for (key, stored) in outcome.kept().into_iter().flat_map(|member| &member.brings) {
                if let CachedObject::ResourceClaim(claim) = stored {
                    around.elsewhere.insert(claim_name(claim));
                }
                state.set(key, Some(stored.clone()));
            }
            left -= 1;
            fitting += usize::from(outcome.status == Status::Success);
            tried.groups.push(outcome);
            tried.status = self.progress(left, fitting).status();
            if matches!(tried.status, Status::Rejected { marked: false, .. }) {
                return;
            }
        }
    }

    /// Tries all pods, as 1.36 does: Permit of each pod that found a node decides whether the group fits.
    fn all_in_turn(&self, state: &mut ClusterState, tried: &mut GroupAttempt) {
        let (mut given, mut preempts) = (0, false);
        for pod in &self.queue {
            let mut member = self.attempt(pod, state, &tried.scope);
            if let Some(error) = error(&member.judgement) {
                tried.status = Status::Error(format!("failed to schedule other pod from a pod group: {error}"));
                tried.waits = false;
                tried.members.push(member);
                return;
            }
            if let Some(pod) = member.assumed() {
                self.assume(pod, &mut member, state, &mut tried.scope);
                given += 1;
                preempts |= member.tried.preempts;
                let permitted = !self.profile.gates.on("GangScheduling")
                    || !self.profile.gang.permit
                    || self.min_count().is_none_or(|least| self.scheduled + given >= least);
                member.permitted = Some(permitted);
                if permitted {
                    tried.waits = preempts;
                    let waiting = || Status::marked(&["pod group is waiting for preemption to complete"]);
                    tried.status = if preempts { waiting() } else { Status::Success };
                }
            }
            tried.members.push(member);
        }
    }

    /// Tries pods until the result is certain, as 1.37 does: PlacementFeasible reports after each pod whether the group can still fit.
    fn until_decided(&self, state: &mut ClusterState, tried: &mut GroupAttempt) {
        let (mut left, mut with_node) = (self.queue.len(), self.scheduled);
        match self.progress(left, with_node) {
            Progress::Impossible(reason) => {
                tried.status = Status::marked(&[&reason]);
                return;
            }
            progress => tried.status = progress.status(),
        }
        for pod in &self.queue {
            let mut member = self.attempt(pod, state, &tried.scope);
            if let Some(error) = error(&member.judgement) {
                tried.status = Status::Error(format!("failed to schedule other pod from a pod group: {error}"));
                tried.members.push(member);
                return;
            }
            left -= 1;
            if let Some(pod) = member.assumed() {
                self.assume(pod, &mut member, state, &mut tried.scope);
                with_node += 1;
            }
            tried.members.push(member);
            tried.status = self.progress(left, with_node).status();
            if matches!(tried.status, Status::Rejected { marked: false, .. }) {
                return;
            }
        }
    }

    /// Assumes a pod on its node: adds what its devices take there, writes the devices found into its claims, and sets its volumes aside.
    fn assume(&self, mut pod: Arc<PodInfo>, member: &mut PodAttempt, state: &mut ClusterState, scope: &mut GroupScope) {
        let pending = PodInfo { node_name: None, ..(*pod).clone() };
        let cycle = Cycle { pod: &pending, state, profile: self.profile, scope: Some(scope) };
        let Some(node) = pod.node_name.as_deref().and_then(|node| state.node(node)) else { return };
        let (claims, takings) = devices_reserved(&cycle, node);
        let (volumes, drawn) = volumes_reserved(&cycle, node);
        if self.profile.rules.requests.devices {
            Arc::make_mut(&mut pod).node_allocatable_claims = takings;
        }
        if drawn {
            member.tried.unknown.get_or_insert(PlacementDoubt::VolumesDrawn);
        }
        scope.pending.extend(claims.iter().map(claim_name));
        let text = |text: &Option<String>| Arc::from(text.as_deref().unwrap_or_default());
        let claims = claims.into_iter().map(|claim| {
            let (namespace, name) = (text(&claim.metadata.namespace), text(&claim.metadata.name));
            (ObjectKey { kind: WatchedKind::ResourceClaim, namespace, name }, CachedObject::ResourceClaim(claim.into()))
        });
        member.brings = [(object_key(&pod), CachedObject::Pod(pod))].into_iter().chain(claims).chain(volumes).collect();
        for (key, stored) in &member.brings {
            state.set(key, Some(stored.clone()));
        }
    }

    /// GangScheduling's PlacementFeasible (`plugins/gangscheduling/gangscheduling.go`, 1.37).
    fn progress(&self, remaining: usize, scheduled: usize) -> Progress {
        if !self.profile.gang.feasible {
            return Progress::Enough;
        }
        let least = self.min_count().unwrap_or(1);
        let counts = format!("{scheduled} scheduled, {remaining} remaining");
        if remaining + scheduled < least {
            Progress::Impossible(format!("minCount ({least}) cannot be satisfied: {counts}"))
        } else if scheduled < least {
            Progress::NotYet(format!("minCount ({least}) is not yet satisfied: {counts}"))
        } else {
            Progress::Enough
        }
    }

    fn attempt(&self, pod: &Arc<PodInfo>, state: &ClusterState, scope: &GroupScope) -> PodAttempt {
        let cycle = Cycle { pod, state, profile: self.profile, scope: Some(scope) };
        let judgement = cycle.evaluate();
        let mut tried = MemberResult {
            pod: pod.key(),
            node: None,
            preempts: false,
            tied: Vec::new(),
            message: judgement.message.clone(),
            unknown: None,
        };
        let fits = judgement.whole_pod.is_none() && judgement.nodes.iter().any(NodeJudgement::fits);
        let mut rooms = Vec::new();
        let places: Vec<Arc<str>> = if fits {
            best(&judgement)
        } else if judgement.preemption_helps && scope.post_filter == PostFilters::Run {
            tried.preempts = true;
            rooms = victims::candidates(&cycle, &judgement).into_iter().filter(|place| place.picked).collect();
            rooms.iter().map(|place| place.node.clone()).collect()
        } else {
            Vec::new()
        };
        let fitting =
            |node: &Arc<str>| judgement.nodes.iter().any(|evaluated| evaluated.name == *node && (tried.preempts || evaluated.fits()));
        let known = self.known.nodes.get(&pod.key()).filter(|node| fitting(node)).cloned();
        tried.node = known.clone().or_else(|| places.first().cloned());
        tried.preempts &= tried.node.is_some();
        tried.tied = if known.is_some() { Vec::new() } else { places.into_iter().skip(1).collect() };
        let chosen = judgement.nodes.iter().find(|evaluated| Some(&evaluated.name) == tried.node.as_ref());
        let score = judgement.scores.as_ref().and_then(|scores| scores.unknown.first());
        let score = score.map(|(plugin, missing)| PlacementDoubt::Score { plugin, missing: missing.clone() });
        let unknown =
            judgement.nodes.iter().filter(|evaluated| evaluated.fits()).find_map(|evaluated| {
                Some(PlacementDoubt::Filter { node: evaluated.name.clone(), missing: evaluated.unknown()?.to_owned() })
            });
        tried.unknown = chosen.and(unknown.or(score));
        let room = rooms.into_iter().find(|place| Some(&place.node) == tried.node.as_ref());
        let victims = room.into_iter().flat_map(|place| place.victims).map(|victim| victim.pod).collect();
        PodAttempt { pod: pod.clone(), judgement, tried, victims, permitted: None, brings: Vec::new() }
    }
}

/// How far the group is on one placement.
enum Progress {
    Enough,
    NotYet(String),
    Impossible(String),
}

impl Progress {
    /// The group's status if nothing follows. A group that can no longer fit is not marked.
    fn status(self) -> Status {
        match self {
            Self::Enough => Status::Success,
            Self::NotYet(reason) => Status::marked(&[&reason]),
            Self::Impossible(reason) => Status::plain(reason),
        }
    }
}

/// The names of the nodes with the best score; one of them is chosen.
fn best(judgement: &Judgement) -> Vec<Arc<str>> {
    if let Some(nominated) = &judgement.nominated {
        return vec![nominated.clone()];
    }
    let mut names: Vec<Arc<str>> = match &judgement.scores {
        Some(scores) => scores.best().cloned().collect(),
        None => judgement.nodes.iter().filter(|node| node.fits()).map(|node| node.name.clone()).collect(),
    };
    names.sort();
    names
}

/// Returns the error that ends the attempt of a pod and with it the group's cycle.
fn error(judgement: &Judgement) -> Option<&str> {
    match &judgement.whole_pod {
        Some(WholePod::Error(error)) => Some(error),
        _ => None,
    }
}

/// Returns the claims that a pod gets devices for on a node, and what its devices take there.
fn devices_reserved(cycle: &Cycle, node: &NodeInfo) -> (Vec<Claim>, Vec<NodeAllocatableClaim>) {
    let wanted = if cycle.profile.rules.dra { Wanted::of(cycle).ok().flatten() } else { None };
    let Some(wanted) = wanted else { return Default::default() };
    let takings = wanted.takings(node).ok().flatten().unwrap_or_default();
    (if wanted.allocates() { wanted.reserve(node) } else { Vec::new() }, takings)
}
