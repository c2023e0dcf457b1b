//! What holds in several futures: where equals were chosen differently, which of a workload's pods find a place in all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{Future, Futures, Happening, SimulatedEvent, WhatIf};

pub(super) fn summed_up(answers: &[WhatIf]) -> Futures {
    let mut by_workload: BTreeMap<(String, String), Future> = BTreeMap::new();
    for (at, answer) in answers.iter().enumerate() {
        for (key, (nodes, waiting)) in outcomes(answer) {
            let (namespace, owner) = key.clone();
            let future = by_workload.entry(key).or_insert_with(|| Future { namespace, owner, ..Future::default() });
            // A workload that had no part in the futures before has none waiting there.
            future.waiting.resize(at, 0);
            future.waiting.push(waiting);
            nodes.into_iter().for_each(|node| *future.nodes.entry(node).or_default() += 1);
        }
    }
    by_workload.values_mut().for_each(|future| future.waiting.resize(answers.len(), 0));
    Futures { count: answers.len(), workloads: by_workload.into_values().collect() }
}

/// The nodes that the pods of each workload got, and how many of its pods wait.
type Outcomes = BTreeMap<(String, String), (BTreeSet<String>, usize)>;

fn outcomes(answer: &WhatIf) -> Outcomes {
    let mut last: BTreeMap<(&str, &str), &SimulatedEvent> = BTreeMap::new();
    for event in answer.events.iter().filter(|event| matches!(event.what, Happening::Scheduled | Happening::Unschedulable)) {
        last.insert((&event.pod.namespace, &event.pod.name), event);
    }
    let mut found = Outcomes::new();
    for event in last.values() {
        let owner = event.pod.owner.clone().unwrap_or_else(|| event.pod.name.clone());
        let of = found.entry((event.pod.namespace.clone(), owner)).or_default();
        match (event.what, &event.node) {
            (Happening::Scheduled, Some(node)) => drop(of.0.insert(node.clone())),
            _ => of.1 += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::SimulatedPod;

    fn answer(outcomes: &[(&str, Option<&str>)]) -> WhatIf {
        let event = |(at, (owner, node)): (usize, &(&str, Option<&str>))| {
            let pod = SimulatedPod { namespace: "n".into(), name: format!("p{at}"), owner: Some((*owner).into()), is_new: true };
            let what = if node.is_some() { Happening::Scheduled } else { Happening::Unschedulable };
            SimulatedEvent { node: node.map(str::to_owned), ..SimulatedEvent::of(what, 0, pod) }
        };
        WhatIf { events: outcomes.iter().enumerate().map(event).collect(), ..WhatIf::default() }
    }

    #[test]
    fn what_waits_in_each_future_is_counted() {
        let futures = summed_up(&[answer(&[("a", Some("x")), ("a", None)]), answer(&[("a", Some("y")), ("b", None)])]);
        assert_eq!(futures.count, 2);
        let [a, b] = &futures.workloads[..] else { panic!("{futures:?}") };
        assert_eq!((&a.waiting[..], &b.waiting[..]), (&[1, 0][..], &[0, 1][..]));
        assert_eq!(a.nodes.len(), 2);
        assert!(b.nodes.is_empty());
    }
}
