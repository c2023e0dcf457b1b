//! What an explanation must admit, each in one sentence; only what could change the answer is said.

use crate::cluster::{ClusterState, PodInfo};

use crate::explanation::{Attempt, Outcome, StateSeen};
use crate::framework::Sample;
use crate::framework::{Judgement, NodeJudgement, WholePod};
use crate::plugins::volume_restrictions::once_claims;
use crate::preemption::victims::PreemptionCandidate;
use crate::profile::scheduler::Scheduler;
use crate::volumes::claim_refs;
use crate::{Profile, Verdict, judged_as};

/// Under which circumstances a judgement was made.
pub(super) struct Circumstances<'a> {
    /// The scheduler judged by.
    pub scheduler: &'a Scheduler,
    /// The profile applied.
    pub profile: &'a Profile,
    /// Whether that is the profile the pod asks for.
    pub own_profile: bool,
    /// The state judged on.
    pub state: &'a ClusterState,
    /// The attempt.
    pub attempt: &'a Attempt,
    /// What the rules say.
    pub judgement: &'a Judgement,
    /// Whether our sentence is the recorded one.
    pub same_message: bool,
    /// How the state was found, if it is not simply the revision before.
    pub found: Option<StateSeen>,
    /// The revision judged on.
    pub evaluated_revision: i64,
    /// Whether the whole history was read.
    pub complete: bool,
}

/// The caveats, the gravest first.
pub(super) fn caveats(of: &Circumstances) -> Vec<String> {
    let mut said = Vec::new();
    let release = of.scheduler.version.release;
    if !of.own_profile {
        said.push(format!(
            "the pod asks for scheduler \"{}\", whose rules are not known: those of {} are a hypothesis",
            of.attempt.pod.spec.scheduler_name, of.profile.scheduler_name
        ));
    }
    if judged_as(release) != release {
        said.push(format!("the rules of {} are applied to {release}, whose own are not known here", judged_as(release)));
    }
    if judged_as(of.scheduler.recorded) != judged_as(release) {
        said.push(format!("judged by the rules of {release}, while the data speaks of {}", of.scheduler.recorded));
    }
    if of.attempt.event_only {
        said.push("only an Event tells of this refusal: the pod was deleted or bound before it was written".to_owned());
    }
    match of.found {
        Some(StateSeen::BeforeOwnWrites) => said.push(format!(
            "r{} is the first that the attempt itself wrote (volumes and claims bound, victims deleted, its nomination): it saw nothing later",
            of.evaluated_revision + 1
        )),
        Some(StateSeen::WithoutOwnWrites) => {
            said.push("what the attempt itself wrote (volumes and claims bound, victims deleted, its nomination) was taken back".to_owned())
        }
        Some(StateSeen::AtItsTurn) => said
            .push(format!("the pod was decided on at once: what others wrote after r{} came too late to be seen", of.evaluated_revision)),
        Some(StateSeen::Earlier) => {
            said.push(format!(
                "the recorded outcome does not follow from the revision before it; it was judged on r{}",
                of.evaluated_revision
            ));
        }
        None => {}
    }
    unknown_rules(of, &mut said);
    said.extend(one_of_several(of));
    said.extend(miscounted_claims(of));
    if !of.same_message && of.attempt.outcome == Outcome::Unschedulable && of.judgement.message.is_some() {
        said.push("the recorded message differs from the one these rules give for this state".to_owned());
    }
    said.extend(other_messages(of));
    said.extend(unseen(of.judgement).filter(|_| of.attempt.outcome != Outcome::Unschedulable));
    if let Some(nominated) = &of.judgement.nominated {
        said.push(format!("the pod was nominated to {nominated}, which fits: no other node was looked at and nothing scored"));
    }
    if !of.complete
        && of.judgement.scores.as_ref().is_some_and(|scores| {
            scores.plugins.iter().any(|score| score.plugin.starts_with("ImageLocality") && score.raw.iter().any(|raw| *raw != 0))
        })
    {
        said.push("ImageLocality counts nodes by their history, part of which was compacted away".to_owned());
    }
    doubtful_scores(of, &mut said);
    said.extend(batched(of));
    said
}

/// That a node which is not the best may be the next best of a pod like it.
fn batched(of: &Circumstances) -> Option<String> {
    let (node, scores) = (of.attempt.node.as_ref()?, of.judgement.scores.as_ref()?);
    (of.judgement.batched && !scores.best().any(|best| best == node)).then(|| {
        format!(
            "{node} may be what a pod like this one left as its next best less than half a second before: such a node is taken without a look at \
             others (OpportunisticBatching), and whether it was so is not in etcd"
        )
    })
}

/// What is assumed of the scheduler itself, whatever it decided.
pub(super) fn assumptions(scheduler: &Scheduler, profile: &Profile) -> Vec<String> {
    let mut said = profile.unverifiable.clone();
    if !scheduler.configured {
        said.push(format!(
            "the scheduler's configuration is not in etcd: the default profile of {} is assumed, without extenders",
            profile.release
        ));
    }
    said
}

/// What the message may be as well, where upstream leaves it to chance and nothing recorded tells.
fn other_messages(of: &Circumstances) -> Option<String> {
    let settled = of.same_message && of.attempt.recorded_message.is_some();
    let (first, more) = of.judgement.equal_messages.split_first().filter(|_| of.judgement.message.is_some() && !settled)?;
    let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
    Some(format!("what the message says is left to chance; it may as well be{more}: {first}"))
}

/// That the scheduler is content before it has seen every node that fits, and what depends on which it saw.
fn unseen(judgement: &Judgement) -> Option<String> {
    let sample = judgement.sample;
    if sample.unseen() == 0 || judgement.nominated.is_some() {
        return None;
    }
    let failing = judgement.nodes.iter().find(|node| node.stop().is_some_and(|at| matches!(node.verdicts[at], Verdict::Error(_))));
    let compared = judgement.scores.iter().flat_map(|scores| &scores.plugins).filter(|score| score.sampled);
    let compared: Vec<&str> = compared.map(|score| score.plugin).collect();
    let depends = match (failing, compared.as_slice()) {
        (Some(node), _) => format!(": the attempt fails only if it came to {}", node.name),
        (None, []) => "; no score depends on it".to_owned(),
        (None, [one]) => format!("; the points of {one} depend on it"),
        (None, [firsts @ .., last]) => format!("; the points of {} and {last} depend on it", firsts.join(", ")),
    };
    let Sample { of, fit, enough } = sample;
    Some(format!(
        "of {of} nodes {fit} fit, and the scheduler stops after {enough} that do; which ones it looked at is not recorded{depends}"
    ))
}

/// 1.17 tells one reason of a node, and looks at extended resources in a map's order.
fn one_of_several(of: &Circumstances) -> Option<String> {
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
    let nodes: Vec<&str> = of.judgement.nodes.iter().filter(in_doubt).map(|node| &*node.name).collect();
    let (first, more) = (nodes.first()?, nodes.len() - 1);
    let more = if more > 0 { format!(" and {more} more nodes") } else { String::new() };
    Some(format!(
        "on {first}{more} several extended resources are lacking, of which 1.17 names one, left to chance: the message may name another"
    ))
}

/// 1.22 to 1.24 share the count of who uses a claim with the copies of a node that preemption takes pods off and nominations put pods on
/// (`framework/types.go` NodeInfo.Clone), so that it may be too low or too high.
fn miscounted_claims(of: &Circumstances) -> Option<String> {
    let pod = &of.attempt.pod;
    if !of.profile.rules.copies_share_claim_counts() || !of.profile.gates.on("ReadWriteOncePod") {
        return None;
    }
    let once = once_claims(pod, of.state).ok().filter(|once| !once.is_empty())?;
    let refused = matches!(&of.judgement.whole_pod, Some(WholePod::Refused { plugin: "VolumeRestrictions", .. }));
    let uses = |other: &PodInfo| other.namespace == pod.namespace && claim_refs(other, false).any(|claim| once.contains(&claim.name));
    let nominated = of.state.nominated().any(|other| uses(other));
    let name = once.first()?;
    let release = of.profile.release;
    if refused {
        Some(format!("{release} forgets that claim {name} is used once it tried preemption on its user's node: the pod may have passed"))
    } else {
        nominated.then(|| {
            format!(
                "{release} may take claim {name} for used, as a pod that uses it was nominated to a node: the pod may have been refused"
            )
        })
    }
}

/// Which scores may be others, and why.
fn doubtful_scores(of: &Circumstances, said: &mut Vec<String>) {
    let Some(scores) = &of.judgement.scores else { return };
    for score in scores.plugins.iter().filter(|score| !score.doubtful.is_empty() && !score.sampled) {
        let names: Vec<&str> = score.doubtful.iter().take(3).map(|at| &*scores.nodes[*at]).collect();
        let more = score.doubtful.len() - names.len();
        let more = if more > 0 { format!(" and {more} more nodes") } else { String::new() };
        said.push(format!(
            "{} of {}{more} may be other than shown: image lists changed as the decision was made, or while a refused pod may have been retried \
             in vain, and what the scheduler had counted by then is not in etcd",
            score.plugin,
            names.join(", ")
        ));
    }
}

/// That others may be the victims: equals, of which the scheduler's cache alone knows which came first.
pub(super) fn equal_victims(preemption: &[PreemptionCandidate]) -> Option<String> {
    let nodes: Vec<&str> = preemption.iter().filter(|place| place.picked && place.tied).map(|place| &*place.node).collect();
    (!nodes.is_empty()).then(|| {
        format!(
            "on {} other pods of the same importance may have to go: that depends on their order in the scheduler's cache",
            nodes.join(", ")
        )
    })
}

/// That others may be the victims: budgets that 1.18 and 1.37 take in an order drawn by chance, and pods of one group (1.37).
pub(super) fn budgets_in_any_order(preemption: &[PreemptionCandidate]) -> Option<String> {
    let nodes: Vec<&str> = preemption.iter().filter(|place| place.drawn).map(|place| &*place.node).collect();
    (!nodes.is_empty()).then(|| {
        format!(
            "on {} the victims depend on the order in which the disruption budgets of one pod, or the pods of one group, are taken, which is \
             left to chance: others may have to go, and another node may be picked",
            nodes.join(", ")
        )
    })
}

/// That another node may be picked: preemption ends its search before it has seen all candidates.
pub(super) fn unseen_candidates(kept: usize, candidates: usize) -> Option<String> {
    (kept < candidates).then(|| {
        format!(
            "preemption stops at {kept} of the {candidates} nodes it could make room on, from a start drawn by chance: which ones is not \
             recorded, and the node picked depends on it"
        )
    })
}

fn unknown_rules(of: &Circumstances, said: &mut Vec<String>) {
    let fitting = of.judgement.nodes.iter().filter(|node| node.fits());
    let unknown: Vec<&str> = fitting.filter_map(|node| node.unknown()).collect();
    if let Some(first) = unknown.first() {
        said.push(format!("{} of the nodes that seem to fit are unknown to a filter: {first}", unknown.len()));
    }
    for (plugin, why) in of.judgement.scores.iter().flat_map(|scores| &scores.unknown) {
        said.push(format!("the score of {plugin} is unknown: {why}"));
    }
    if let (Some(WholePod::Error(_)), Outcome::Scheduled) = (&of.judgement.whole_pod, of.attempt.outcome) {
        said.push("by these rules the attempt ends with an error".to_owned());
    }
    // A pod that is on no node changes nothing for another one.
    let matters = |object: &str| match object.strip_prefix("pods/").and_then(|path| path.split_once('/')) {
        Some((namespace, name)) => {
            let own = *of.attempt.pod.namespace == *namespace && *of.attempt.pod.name == *name;
            let idle = of.state.unreadable_pods().any(|pod| pod.idle && pod.key.path() == object);
            own || !idle && of.state.pod(namespace, name).is_none_or(|pod| pod.is_on_node())
        }
        None => true,
    };
    let problems = of.state.problems().filter(|problem| matters(&problem.object));
    let own = format!("pods/{}", of.attempt.pod.full_name());
    // What is wrong with the pod itself comes first.
    let mut shown: Vec<(bool, String)> =
        problems.map(|problem| (problem.object != own, format!("{}: {}", problem.object, problem.what))).collect();
    shown.sort();
    shown.dedup();
    let unread = of.judgement.unread.iter().filter(|unread| !of.state.problems().any(|problem| problem.object == unread.key.path()));
    shown.extend(unread.map(|unread| (true, unread.to_string())));
    let more = shown.len().saturating_sub(3);
    said.extend(shown.into_iter().take(3).map(|(_, text)| text));
    if more > 0 {
        said.push(format!("{more} more {} could not be read in full", if more == 1 { "object" } else { "objects" }));
    }
    for wait in &of.judgement.driver_waits {
        let every = of.judgement.nodes.iter().filter(|node| node.fits()).count() == wait.nodes.len();
        let names = || wait.nodes.iter().take(3).map(|name| &**name).collect::<Vec<_>>().join(", ");
        let nodes = match wait.nodes.len() {
            _ if every => "a node".to_owned(),
            ..=3 => names(),
            many => format!("{} or one of {} more nodes", names(), many - 3),
        };
        said.push(format!("once {nodes} is chosen, DynamicResources refuses the pod there: {}", wait.reason));
    }
    if let Some(group) = &of.judgement.group {
        said.extend(group.caveats());
    } else if let Some(waits) = of.judgement.permit {
        said.push(format!("{waits}: which of the group's other pods are given nodes at the same time is not in etcd"));
    }
}
