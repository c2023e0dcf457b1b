//! The pods that preemption would evict, and those that it evicted.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_scheduler::Explanation;

/// What preemption would do, and what it did.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Preemption<'a> {
    /// The nodes on which it would make room, the best first.
    candidates: Vec<Candidate<'a>>,
    /// The pods that it was seen to delete for this pod.
    preempted: Vec<Preempted<'a>>,
}

/// A node on which preemption would make room.
#[derive(Debug, Serialize, JsonSchema)]
struct Candidate<'a> {
    /// The node.
    node: &'a str,
    /// Whether preemption picks it; several are picked where its rules do not decide.
    picked: bool,
    /// The pods that it would delete there.
    victims: Vec<Victim<'a>>,
}

/// A pod that preemption would delete.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Victim<'a> {
    /// `Pod`.
    kind: &'static str,
    /// Its namespace.
    namespace: &'a str,
    /// Its name.
    name: &'a str,
    /// Its priority.
    priority: i32,
    /// Whether that violates a PodDisruptionBudget.
    violates_budget: bool,
}

/// A pod that preemption deleted.
#[derive(Debug, Serialize, JsonSchema)]
struct Preempted<'a> {
    /// `Pod`.
    kind: &'static str,
    /// Its namespace.
    namespace: &'a str,
    /// Its name.
    name: &'a str,
    /// The revision of its deletion.
    revision: i64,
}

/// What is known of it, if there is anything.
pub(super) fn preemption(explanation: &Explanation) -> Option<Preemption<'_>> {
    if explanation.preemption.is_empty() && explanation.preempted.is_empty() {
        return None;
    }
    let candidates = explanation.preemption.iter().map(|place| Candidate {
        node: &place.node,
        picked: place.picked,
        victims: place
            .victims
            .iter()
            .map(|victim| Victim {
                kind: "Pod",
                namespace: &victim.pod.namespace,
                name: &victim.pod.name,
                priority: victim.pod.spec.priority,
                violates_budget: victim.violates_budget,
            })
            .collect(),
    });
    let preempted = explanation.preempted.iter();
    let preempted =
        preempted.map(|(pod, revision)| Preempted { kind: "Pod", namespace: &pod.namespace, name: &pod.name, revision: *revision });
    Some(Preemption { candidates: candidates.collect(), preempted: preempted.collect() })
}
