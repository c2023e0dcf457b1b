//! A group's cycle played for a cluster that continues: what becomes of each of its pods, and which pods have to go.
//! Source: `submitPodGroupAlgorithmResult` of `schedule_one_podgroup.go` (1.36, 1.37).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Profile;
use crate::cluster::{ClusterState, PodInfo, PodKey};
use crate::framework::{GroupCaveat, Judgement, MemberResult};

use super::attempt::GroupAttempt;
use super::placement::PodGroupAlgorithmResult;
use super::preemption::PodGroupPostFilterResult;
use super::status::Status;
use super::turn::GroupTurn;
use super::{Group, KnownMembers, Mode, members};

/// What the cycle of a pod group does: to all its pods at once, since they are bound together or not at all.
#[derive(Clone, Debug, Default)]
pub struct PlayedGroup {
    /// The group that was tried as a whole, by its name.
    pub name: String,
    /// The pods that were tried, in order.
    pub members: Vec<PlayedMember>,
    /// Why the cycle does not begin, if it does not: pods of the group are kept out of the queue, or groups above it do not exist.
    pub held_back: Option<String>,
    /// The pods that make room for the group.
    pub victims: Vec<Arc<PodInfo>>,
    /// Whether it fits. Those of its pods that do not are tried again at once (1.37).
    pub fits: bool,
    /// What the result depends on besides the state.
    pub caveats: Vec<GroupCaveat>,
}

/// What the cycle of its group does to a pod.
#[derive(Clone, Debug)]
pub struct PlayedMember {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// Its judgement, with the message that is written for it.
    pub judgement: Judgement,
    /// The node it is bound to.
    pub node: Option<Arc<str>>,
    /// Nodes that were as good.
    pub tied: Vec<Arc<str>>,
    /// The node it is nominated to, until the victims have gone.
    pub nominated: Option<Arc<str>>,
}

/// Plays the cycle of a waiting pod's group; `None` where the pod is tried by itself: it has no group, or the release or its gates know none.
/// `choose` picks one of this many equals. The state is as it was afterwards.
pub fn play_group(
    pod: &Arc<PodInfo>,
    state: &mut ClusterState,
    profile: &Profile,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Option<PlayedGroup> {
    if !profile.rules.group_cycles {
        return None;
    }
    let mut draws = Draws::default();
    loop {
        let known = std::mem::take(&mut draws.known);
        let root = members::group(pod, state, profile, &known)?;
        if let Some(why) = held_back(&root) {
            return Some(PlayedGroup { name: root.id.name.to_string(), held_back: Some(why), ..PlayedGroup::default() });
        }
        let outcome = match members::mismatches(&root, state).into_iter().next() {
            Some(error) => PodGroupAlgorithmResult::failed(Status::Error(error)),
            None => root.run(state, Mode { post_filter: root.post_filters(), on_copies: false }),
        };
        let drawn = draws.next(&outcome, choose);
        if drawn.is_none() {
            return Some(played(&root, &outcome, state, &draws.tied));
        }
        draws.known = known;
        draws.known.nodes.extend(drawn);
    }
}

/// Which of several equal nodes pods got.
#[derive(Default)]
struct Draws {
    known: KnownMembers,
    /// The nodes that were as good.
    tied: BTreeMap<PodKey, Vec<Arc<str>>>,
}

impl Draws {
    /// Draws the node of the first pod that has several and was not drawn; returns it where it is not the one that the cycle took, so that what comes
    /// after it has to be tried anew.
    fn next(&mut self, outcome: &PodGroupAlgorithmResult, choose: &mut dyn FnMut(usize) -> usize) -> Option<(PodKey, Arc<str>)> {
        for MemberResult { pod, node, tied, .. } in outcome.in_turn() {
            let Some(node) = node.clone().filter(|_| !tied.is_empty() && !self.tied.contains_key(pod)) else { continue };
            let mut equals: Vec<Arc<str>> = std::iter::once(node).chain(tied.iter().cloned()).collect();
            let at = choose(equals.len()).min(equals.len() - 1);
            let taken = equals.remove(at);
            self.tied.insert(pod.clone(), equals);
            if at > 0 {
                return Some((pod.clone(), taken));
            }
        }
        None
    }
}

impl PodGroupAlgorithmResult {
    /// The pods as they were tried on the chosen placement, those of child groups included.
    fn in_turn(&self) -> Vec<&MemberResult> {
        fn of(tried: &GroupAttempt) -> Vec<&MemberResult> {
            let below = tried.groups.iter().flat_map(PodGroupAlgorithmResult::in_turn);
            below.chain(tried.members.iter().map(|member| &member.tried)).collect()
        }
        self.chosen.map(|at| of(&self.tries[at].1)).unwrap_or_default()
    }
}

/// Why the cycle does not begin.
fn held_back(root: &Group) -> Option<String> {
    let gated = root.leaves().into_iter().flat_map(|leaf| &leaf.gated).next();
    let waits = |(pod, plugin): &(Arc<str>, &str)| format!("waiting for pod {pod} of its group, which {plugin} keeps out of the queue");
    root.aside.clone().or_else(|| gated.filter(|_| root.newer()).map(waits))
}

/// What the cycle does to each pod.
fn played(
    root: &Group,
    outcome: &PodGroupAlgorithmResult,
    state: &mut ClusterState,
    tied: &BTreeMap<PodKey, Vec<Arc<str>>>,
) -> PlayedGroup {
    let answer = root.preempt(state, outcome);
    let mut group = PlayedGroup {
        name: root.id.name.to_string(),
        fits: root.newer() && outcome.status == Status::Success,
        caveats: members::inferred(root).into_iter().collect(),
        ..PlayedGroup::default()
    };
    let mut nominated: BTreeMap<&PodKey, &Arc<str>> = BTreeMap::new();
    match &answer {
        Some(PodGroupPostFilterResult::Helps { victims, nodes, .. }) => {
            group.victims.clone_from(victims);
            nominated.extend(nodes.iter().map(|(pod, node)| (pod, node)));
        }
        _ => group.victims = outcome.chosen.map(|at| outcome.tries[at].1.victims()).unwrap_or_default(),
    }
    for leaf in root.leaves() {
        for pod in &leaf.queue {
            let turn = GroupTurn { root, leaf, pod };
            let cycle = turn.described(outcome, answer.as_ref(), state);
            group.caveats.extend(cycle.unknown.iter().chain(&cycle.inferred).cloned());
            let judgement = turn.judgement(state, outcome, answer.as_ref(), cycle);
            let tried = turn.member(outcome).map(|member| &member.tried);
            let own = tried.and_then(|tried| tried.node.clone());
            let waits = tried.is_some_and(|tried| tried.preempts);
            group.members.push(PlayedMember {
                pod: pod.clone(),
                node: own.clone().filter(|_| judgement.message.is_none()),
                tied: tied.get(&pod.key()).cloned().unwrap_or_default(),
                nominated: nominated.get(&pod.key()).map(|node| (*node).clone()).or_else(|| own.filter(|_| waits)),
                judgement,
            });
        }
    }
    group
}

impl GroupAttempt {
    /// The victims of its pods' own preemption (1.36 runs PostFilter for each pod of a group).
    fn victims(&self) -> Vec<Arc<PodInfo>> {
        self.members.iter().flat_map(|member| member.victims.clone()).collect()
    }
}
