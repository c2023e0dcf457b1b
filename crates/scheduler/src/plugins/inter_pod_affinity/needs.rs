//! What would satisfy pod affinity: softer terms, or deleting the pods that repel this one.

use std::sync::Arc;

use crate::cluster::{PodInfo, TermKind, WeightedTerm};
use crate::framework::{Fix, MOST_CHANGES, Need, Obstacle};
use crate::{Candidate, Cycle};

use super::evidence::near_what_it_seeks;
use super::{others_term_matches, own_term_matches};

/// The pod's affinity: softened. Its anti-affinity: softened, or each pod it avoids gone. Each pod that avoids it: gone.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let spec = &cycle.pod.spec;
    let avoids = &spec.pod_anti_affinity.required;
    let keys: Vec<&Arc<str>> = avoids.iter().map(|term| &term.topology_key).collect();
    let avoided =
        sharing(cycle, node, &keys, |pod, near| avoids.iter().any(|term| near(&term.topology_key) && own_term_matches(term, pod, cycle)));
    let against = |term: &&WeightedTerm| term.kind == TermKind::RequiredAntiAffinity && others_term_matches(&term.term, cycle);
    let mut keys: Vec<&Arc<str>> = cycle.state.terms().map(|(term, _)| term).filter(against).map(|term| &term.term.topology_key).collect();
    keys.extend(node.added.iter().flat_map(|pod| pod.spec.pod_anti_affinity.required.iter().map(|term| &term.topology_key)));
    let avoiding = sharing(cycle, node, &keys, |pod, near| {
        pod.spec.pod_anti_affinity.required.iter().any(|term| near(&term.topology_key) && others_term_matches(term, cycle))
    });
    let sought = !spec.pod_affinity.required.is_empty();
    let softened = |affinity: bool, anti_affinity: bool| {
        let both = [affinity.then_some(Fix::SoftenAffinity), anti_affinity.then_some(Fix::SoftenAntiAffinity)];
        both.into_iter().flatten().collect::<Vec<Fix>>()
    };
    let any = || {
        let pods = Fix::deletions(
            node.pods.iter().chain(avoided.iter().chain(&avoiding).copied().filter(|pod| pod.node_name.as_ref() != Some(&node.name))),
        );
        vec![Need::one_of([softened(sought, !avoids.is_empty()), pods].concat())]
    };
    // Up to 1.11 terms are counted otherwise; any of these may be what refuses.
    if cycle.profile.rules.first_pod_looks_everywhere() {
        return any();
    }
    let mut needs: Vec<Need> = match avoided.len() {
        // More pods than changes are possible cannot all be deleted.
        count if count > MOST_CHANGES => vec![Need::one_of(softened(false, true))],
        _ => avoided.iter().map(|pod| Need::one_of([softened(false, true), Fix::deletions([*pod])].concat())).collect(),
    };
    needs.extend(match avoiding.len() {
        count if count > MOST_CHANGES => vec![Need::hopeless(Obstacle::ManyAntiAffinePods)],
        _ => avoiding.iter().map(|pod| Need::one_of_or(Fix::deletions([*pod]), Obstacle::AntiAffinePod(pod.key()))).collect(),
    });
    if sought && !near_what_it_seeks(cycle, node) {
        // Without any pod that matches it would be the first of its kind.
        needs.push(Need::one_of([softened(true, false), Fix::deletions(node.pods.iter())].concat()));
    }
    if needs.is_empty() { any() } else { needs }
}

/// The pods in the node's domains of some keys that something holds of, first those on the node; at most one more than changes are possible.
fn sharing<'a>(
    cycle: &'a Cycle<'a>,
    node: &'a Candidate<'a>,
    keys: &[&Arc<str>],
    holds: impl Fn(&PodInfo, &dyn Fn(&str) -> bool) -> bool,
) -> Vec<&'a Arc<PodInfo>> {
    let others = cycle.state.nodes().filter(|other| other.id != node.id);
    let mut found = Vec::new();
    for other in [node.node].into_iter().chain(others) {
        let near = |key: &str| node.labels.get(key).is_some_and(|value| other.labels.get(key) == Some(value));
        if !keys.iter().any(|key| near(key)) {
            continue;
        }
        found.extend(other.pods.iter().filter(|pod| holds(pod, &near)));
        if found.len() > MOST_CHANGES {
            break;
        }
    }
    found
}
