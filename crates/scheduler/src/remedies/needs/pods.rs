//! Needs that concern other pods: spread, affinity, anti-affinity.

use std::sync::Arc;

use crate::cluster::{PodInfo, TermKind, WeightedTerm, WhenUnsatisfiable};
use crate::plugins::evidence::pods::near_what_it_seeks;
use crate::plugins::pod_topology_spread::filter::comparisons;
use crate::plugins::{others_term_matches, own_term_matches};
use crate::remedies::fix::Fix;
use crate::remedies::search::CHANGES;
use crate::{Candidate, Cycle};

use super::{Need, deletions};

/// Each constraint that does not hold: more skew, a softer constraint, or a pod of the node's less.
pub(super) fn spread(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let own = &cycle.pod.spec.spread;
    let hard: Vec<usize> = (0..own.len()).filter(|at| own[*at].when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule).collect();
    let mut needs = Vec::new();
    for (number, compared) in comparisons(cycle, node).into_iter().enumerate() {
        let skewed = match &compared {
            Ok(compared) if !compared.is_skewed() => continue,
            Ok(_) => true,
            Err(_) => false,
        };
        let place = hard.get(number).copied();
        let mut options: Vec<Fix> = place.map(|at| Fix::SoftenSpread(at, own[at].topology_key.clone())).into_iter().collect();
        if skewed {
            options.extend(place.map(|at| Fix::MaxSkew(at, own[at].topology_key.clone(), 0)));
            options.extend(deletions(node.pods.iter().filter(|pod| pod.namespace == cycle.pod.namespace)));
        }
        needs.push(Need { why: "the scheduler's configuration spreads pods more evenly".to_owned(), ..Need::one_of(options) });
    }
    needs
}

/// The pod's affinity: softened. Its anti-affinity: softened, or each pod it avoids gone. Each pod that avoids it: gone.
pub(super) fn affinity(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
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
        let pods = deletions(
            node.pods.iter().chain(avoided.iter().chain(&avoiding).copied().filter(|pod| pod.node_name.as_ref() != Some(&node.name))),
        );
        vec![Need::one_of([softened(sought, !avoids.is_empty()), pods].concat())]
    };
    // Up to 1.11 terms are counted otherwise; any of these may be what refuses.
    if cycle.profile.release.0 <= 11 {
        return any();
    }
    let mut needs: Vec<Need> = match avoided.len() {
        // More pods than changes are possible cannot all be deleted.
        count if count > CHANGES => vec![Need::one_of(softened(false, true))],
        _ => avoided.iter().map(|pod| Need::one_of([softened(false, true), deletions([*pod].into_iter())].concat())).collect(),
    };
    needs.extend(match avoiding.len() {
        count if count > CHANGES => vec![Need::hopeless("more pods avoid this one than could be deleted")],
        _ => avoiding
            .iter()
            .map(|pod| Need { why: format!("{} avoids the pod", pod.full_name()), ..Need::one_of(deletions([*pod].into_iter())) })
            .collect(),
    });
    if sought && !near_what_it_seeks(cycle, node) {
        // Without any pod that matches it would be the first of its kind.
        needs.push(Need::one_of([softened(true, false), deletions(node.pods.iter())].concat()));
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
        if found.len() > CHANGES {
            break;
        }
    }
    found
}
