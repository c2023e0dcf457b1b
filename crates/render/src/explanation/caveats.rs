//! Words for caveats: why a scheduler may have decided differently, and what is assumed of it.

use std::sync::Arc;

use ketcd_scheduler::{
    AssumedPod, Assumption, Caveat, DecidedBy, Explanation, NeighbourDoubt, Sample, StateSeen, UnreadObject, UnseenEnd, VersionEvidence,
};

use super::group_caveats::group_caveat;
use super::unverifiable::unverifiable;

const MAX_NAMES_SHOWN: usize = 3;

/// The caveats of an explanation, each a sentence without its full stop.
pub(super) fn caveats(explanation: &Explanation) -> Vec<String> {
    explanation.caveats.iter().flat_map(sentences).collect()
}

/// What is assumed of its scheduler, each a sentence.
pub(super) fn assumptions(explanation: &Explanation) -> Vec<String> {
    let sentence = |assumption: &Assumption| match assumption {
        Assumption::Unverifiable(of) => unverifiable(of),
        Assumption::DefaultProfile(release) => {
            format!("the scheduler's configuration is not in etcd: the default profile of {release} is assumed, without extenders")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    explanation.assumptions.iter().map(sentence).collect()
}

/// The evidence for a scheduler's release, a fragment.
pub fn version_evidence(evidence: &VersionEvidence) -> String {
    match evidence {
        VersionEvidence::Given => "--scheduler-version".to_owned(),
        VersionEvidence::PatchFrom(found) => format!("--scheduler-version, its patch by {}", version_evidence(found)),
        VersionEvidence::SchedulerImage { pod, image } => format!("image {image} of pod kube-system/{pod}"),
        VersionEvidence::Kubelets { control_plane, version, nodes } => {
            let which = if *control_plane { "control-plane node" } else { "node" };
            let plural = if *nodes == 1 { "" } else { "s" };
            format!("{which} kubeletVersion ({version} on {nodes} node{plural})")
        }
        VersionEvidence::RecordedMessages(words) => format!("the words of recorded refusals (\"{words}\")"),
        VersionEvidence::Assumed => "assumed: nothing in the data shows the version".to_owned(),
        VersionEvidence::NewestPatchAssumed(evidence) => format!("{}; its newest patch is assumed", version_evidence(evidence)),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// A caveat in one sentence; each unread object gets its own.
fn sentences(caveat: &Caveat) -> Vec<String> {
    vec![match caveat {
        Caveat::Unread(objects) => return unread(objects),
        Caveat::NoAttempt(decided_by) => no_attempt(*decided_by).to_owned(),
        Caveat::OtherProfile { requested, applied, others } => other_profile(requested, applied, others),
        Caveat::UnknownRelease { release, applied } => {
            format!("the rules of {applied} are applied to {release}, whose own rules ketcd does not know")
        }
        Caveat::OtherReleaseRecorded { applied, recorded } => {
            format!("evaluated by the rules of {applied}, while the data shows {recorded}")
        }
        Caveat::EventOnly => "only an Event records this refusal: the pod was deleted or bound before its condition was written".to_owned(),
        Caveat::RepeatedRefusal => "only an Event records this refusal; later retries may have left no trace".to_owned(),
        Caveat::StateSeen { state, revision } => state_seen(*state, *revision),
        Caveat::Assumed(pods) => assumed(pods),
        Caveat::Neighbours(pods) => return pods.iter().map(neighbour).collect(),
        Caveat::UnseenEnds(ends) => return ends.iter().map(unseen_end).collect(),
        Caveat::RestartsUntraced => {
            "etcd holds no lock of the scheduler, as without leader election: ketcd cannot tell whether its process restarted meanwhile \
            and forgot what it had assumed"
                .to_owned()
        }
        Caveat::UnknownFilters { nodes, missing } => {
            format!("a filter's verdict is unknown on {} of the nodes that seem to fit: {missing}", nodes.len())
        }
        Caveat::UnknownScore { plugin, missing } => format!("the score of {plugin} is unknown: {missing}"),
        Caveat::EndsWithError => "by these rules the attempt ends with an error".to_owned(),
        Caveat::Group(caveat) => group_caveat(caveat),
        Caveat::WaitsOnPermit(waits) => {
            format!("{waits}: which other pods of the group get nodes at the same time is not in etcd")
        }
        Caveat::OneOfSeveralResources { nodes } => one_of_several(nodes),
        Caveat::ClaimUseForgotten { release, claim } => {
            format!(
                "{release} no longer counts claim {claim} as used after it tried preemption on its user's node: the filter may have passed"
            )
        }
        Caveat::ClaimUseOvercounted { release, claim } => format!(
            "{release} may count claim {claim} as used, because a pod that uses it was nominated to a node: the filter may have refused"
        ),
        Caveat::OtherMessage => "the recorded message differs from the one these rules give for this state".to_owned(),
        Caveat::EqualMessages(messages) => equal_messages(messages),
        Caveat::Sampled { sample, failing, plugins } => sampled(*sample, failing.as_deref(), plugins),
        Caveat::Nominated(node) => {
            format!("the pod was nominated to {node}, which fits: no other node was evaluated or scored")
        }
        Caveat::ImageHistoryCompacted => "ImageLocality counts nodes by their history, part of which was compacted".to_owned(),
        Caveat::UncertainScore { plugin, nodes } => uncertain_score(plugin, nodes),
        Caveat::NextBest(node) => next_best(node),
        Caveat::PreemptionSampled { kept, candidates } => preemption_sampled(*kept, *candidates),
        Caveat::EqualVictims { nodes } => equal_victims(nodes),
        Caveat::BudgetOrder { nodes } => budget_order(nodes),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }]
}

/// What is evaluated where the profile of the pod's scheduler is not known, and what else depends on it.
fn other_profile(requested: &str, applied: &str, others: &[String]) -> String {
    let hypothesis = format!(
        "the pod's schedulerName is \"{requested}\", whose profile is not known: that of {applied} is applied as a hypothesis \
         (--scheduler-config gives its profile)"
    );
    match others {
        [] => hypothesis,
        _ => format!("{hypothesis}; the choices for {}, decided near this one, depend on it too", others.join(", ")),
    }
}

/// Why a pod without an attempt is evaluated anyway.
fn no_attempt(decided_by: DecidedBy) -> &'static str {
    match decided_by {
        DecidedBy::Kubelet => {
            "it is a static pod: its kubelet runs it and no scheduler decided; evaluated as if it were to be scheduled now"
        }
        DecidedBy::Creator => "it was created with its node, so no scheduler decided; evaluated as if it were to be scheduled now",
        DecidedBy::Unreadable | DecidedBy::Scheduler => {
            "ketcd cannot read when the pod was bound: it is evaluated as if it were to be scheduled now"
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn state_seen(state: StateSeen, revision: i64) -> String {
    match state {
        StateSeen::BeforeOwnWrites => format!(
            "r{} is the first revision that the attempt itself wrote (volumes and claims bound, victims deleted, its nomination): it saw no later one",
            revision + 1
        ),
        StateSeen::WithoutOwnWrites => {
            "evaluated without what the attempt itself wrote (volumes and claims bound, victims deleted, its nomination)".to_owned()
        }
        StateSeen::BeforeLaterPods => {
            format!("decisions made after the attempt are shown from r{} on: it saw no later revision", revision + 1)
        }
        StateSeen::AtItsTurn => format!("the pod was scheduled at once: the attempt cannot have seen what others wrote after r{revision}"),
        StateSeen::Earlier => {
            format!("the recorded outcome does not follow from the revision before it; it was evaluated on r{revision}")
        }
    }
}

/// Pods that the scheduler counted before etcd shows them on their nodes.
fn assumed(pods: &[AssumedPod]) -> String {
    let named: Vec<String> = pods.iter().take(MAX_NAMES_SHOWN).map(|pod| format!("{} on {}", pod.pod, pod.node)).collect();
    let more = if pods.len() > MAX_NAMES_SHOWN { format!(" and {} more pods", pods.len() - MAX_NAMES_SHOWN) } else { String::new() };
    let verb = if pods.len() == 1 { "its binding was" } else { "their bindings were" };
    format!("the scheduler counted {}{more} already, as assumed; {verb} not written yet", named.join(", "))
}

/// A pod that may have been decided about on either side of the attempt.
fn neighbour(doubt: &NeighbourDoubt) -> String {
    let NeighbourDoubt { pod, written, .. } = doubt;
    let what = match (doubt.counted, doubt.needed) {
        (true, true) => {
            format!("the outcome follows only if {pod} was assumed by then, though r{written} is the first revision that shows it")
        }
        (false, true) => {
            format!("the outcome follows only if the scheduler had not yet decided about {pod}, whose decision r{written} shows")
        }
        (true, false) => {
            format!("{pod}, whose decision r{written} shows, is counted, but the scheduler may not have decided about it by then")
        }
        (false, false) => format!("{pod}, whose decision r{written} shows, is not counted, but may have been assumed by then"),
    };
    match doubt.nodes.is_empty() {
        true => what,
        false => format!("{what}; the result on {} depends on it", first(&doubt.nodes, MAX_NAMES_SHOWN)),
    }
}

/// The end of a pod that the attempt may not have seen.
fn unseen_end(end: &UnseenEnd) -> String {
    let UnseenEnd { pod, written, nodes, .. } = end;
    format!(
        "r{written} shows the end of {pod}, which the scheduler may not have known yet; the result on {} depends on it",
        first(nodes, MAX_NAMES_SHOWN)
    )
}

/// The first unread objects, and how many more there are.
fn unread(objects: &[UnreadObject]) -> Vec<String> {
    let sentence = |object: &UnreadObject| match object {
        UnreadObject::Problem(problem) => format!("{}: {}", problem.object, problem.what),
        UnreadObject::Unreadable(unreadable) => unreadable.to_string(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    let mut sentences: Vec<String> = objects.iter().take(MAX_NAMES_SHOWN).map(sentence).collect();
    match objects.len() - sentences.len() {
        0 => {}
        1 => sentences.push("1 more object could not be read in full".to_owned()),
        more => sentences.push(format!("{more} more objects could not be read in full")),
    }
    sentences
}

fn one_of_several(nodes: &[Arc<str>]) -> String {
    format!(
        "several extended resources are missing on {}; 1.17 names one of them at random, so the message may name another",
        first(nodes, 1)
    )
}

/// The first of some nodes: `n1, n2 and 12 more nodes`.
fn first(nodes: &[Arc<str>], shown: usize) -> String {
    let shown = nodes.len().min(shown);
    let more = nodes.len() - shown;
    let names = nodes[..shown].join(", ");
    if more > 0 { format!("{names} and {more} more nodes") } else { names }
}

fn equal_messages(messages: &[String]) -> String {
    let more = if messages.len() > 1 { format!(" (and {} more)", messages.len() - 1) } else { String::new() };
    format!("the message is one of several chosen at random; it may also be{more}: {}", messages.first().map_or("", String::as_str))
}

fn sampled(sample: Sample, failing: Option<&str>, plugins: &[&str]) -> String {
    let depends = match (failing, plugins) {
        (Some(node), _) => format!(": the attempt fails only if it evaluated {node}"),
        (None, []) => "; no score depends on it".to_owned(),
        (None, [one]) => format!("; the score of {one} depends on it"),
        (None, [firsts @ .., last]) => format!("; the scores of {} and {last} depend on it", firsts.join(", ")),
    };
    let Sample { of, fit, enough } = sample;
    format!("{fit} of {of} nodes fit, and the scheduler stops after {enough} that do; which ones it evaluated is not recorded{depends}")
}

fn uncertain_score(plugin: &str, nodes: &[Arc<str>]) -> String {
    format!(
        "the score of {plugin} on {} may differ: image lists changed as the decision was made, or while a refused pod may have been retried without \
         success, and what the scheduler had counted by then is not in etcd",
        first(nodes, MAX_NAMES_SHOWN)
    )
}

fn next_best(node: &str) -> String {
    format!(
        "{node} may have been the next best node of a pod with the same signature less than half a second before: such a node is taken without \
         evaluating others (OpportunisticBatching), and whether it was is not in etcd"
    )
}

fn preemption_sampled(kept: usize, candidates: usize) -> String {
    format!(
        "preemption stops at {kept} of the {candidates} nodes it could make room on, from a random start: which ones is not recorded, \
         and the node picked depends on it"
    )
}

fn equal_victims(nodes: &[Arc<str>]) -> String {
    format!(
        "on {} other pods of the same importance may be the victims: that depends on their order in the scheduler's cache",
        nodes.join(", ")
    )
}

fn budget_order(nodes: &[Arc<str>]) -> String {
    format!(
        "on {} the victims depend on the order of the disruption budgets of one pod, or of the pods of one group, which is \
         random: others may be the victims, and another node may be picked",
        nodes.join(", ")
    )
}
