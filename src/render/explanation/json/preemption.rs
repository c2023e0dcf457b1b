//! Whom preemption would evict, and whom it did.

use serde::Serialize;

use ketcd_scheduler::Explanation;

/// The places preemption would make, and the pods it took.
#[derive(Serialize)]
pub(super) struct Preemption<'a> {
    /// The best first.
    candidates: Vec<Place<'a>>,
    preempted: Vec<Preempted<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    node: &'a str,
    picked: bool,
    victims: Vec<Victim<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Victim<'a> {
    namespace: &'a str,
    name: &'a str,
    priority: i32,
    violates_budget: bool,
}

#[derive(Serialize)]
struct Preempted<'a> {
    namespace: &'a str,
    name: &'a str,
    revision: i64,
}

/// What is known of it, if there is anything.
pub(super) fn preemption(explanation: &Explanation) -> Option<Preemption<'_>> {
    if explanation.preemption.is_empty() && explanation.preempted.is_empty() {
        return None;
    }
    let candidates = explanation.preemption.iter().map(|place| Place {
        node: &place.node,
        picked: place.picked,
        victims: place
            .victims
            .iter()
            .map(|victim| Victim {
                namespace: &victim.pod.namespace,
                name: &victim.pod.name,
                priority: victim.pod.spec.priority,
                violates_budget: victim.violates_budget,
            })
            .collect(),
    });
    let preempted = explanation.preempted.iter();
    let preempted = preempted.map(|(pod, revision)| Preempted { namespace: &pod.namespace, name: &pod.name, revision: *revision });
    Some(Preemption { candidates: candidates.collect(), preempted: preempted.collect() })
}
