//! Ends of pods that were written just before an attempt.

use serde_json::json;

use crate::explanation::{Caveat, Explanation};

use super::history::{History, Pod, is_marked};

/// The pods whose end the attempt may not have seen.
fn unseen(explanation: &Explanation) -> Vec<&str> {
    let ends = explanation.caveats.iter().filter_map(|caveat| if let Caveat::UnseenEnds(ends) = caveat { Some(ends) } else { None });
    ends.flatten().map(|end| &*end.pod).collect()
}

/// A pod ends on a node, so many other changes follow, then another pod comes and is bound.
fn history(changes: usize, bound: &str) -> History {
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.bind(&Pod::new("old"), "n1");
    history.delete("pods/a/old");
    (0..changes).for_each(|_| {
        history.node("n2", &[]);
    });
    let new = Pod::new("new");
    history.pod(&new);
    history.bind(&new, bound);
    history
}

#[test]
fn an_end_just_before_is_marked_where_numbers_depend_on_it() {
    let explanation = history(0, "n2").explained("new");
    assert_eq!(unseen(&explanation), ["a/old"]);
    assert_eq!(["n1", "n2"].map(|node| is_marked(&explanation, node)), [true, false]);
}

#[test]
fn a_node_that_is_refused_either_way_keeps_the_reasons_of_the_end_seen() {
    let mut history = History::with_nodes(&["n1", "n2"]);
    let small =
        json!({"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "3", "memory": "6Gi", "pods": "110"}}});
    history.put("minions/n1", small);
    history.bind(&Pod::new("old"), "n1");
    history.delete("pods/a/old");
    let new = Pod::new("new");
    history.pod(&new);
    history.bind(&new, "n2");
    let explanation = history.explained("new");
    assert_eq!(unseen(&explanation), ["a/old"]);
    let n1 = explanation.judgement.nodes.iter().find(|node| *node.name == *"n1").unwrap();
    // With the old pod there memory is short, too.
    assert_eq!(n1.first_refusal().unwrap().1.reasons, ["Insufficient cpu"]);
}

#[test]
fn an_end_long_before_was_seen() {
    let explanation = history(6, "n2").explained("new");
    assert_eq!(unseen(&explanation), [""; 0]);
    assert_eq!(["n1", "n2"].map(|node| is_marked(&explanation, node)), [false; 2]);
}

#[test]
fn an_end_that_the_outcome_needs_was_seen() {
    // With the old pod n2 would be better.
    let explanation = history(0, "n1").explained("new");
    assert_eq!(unseen(&explanation), [""; 0]);
    assert!(!is_marked(&explanation, "n1"));
}

#[test]
fn a_pod_that_was_refused_before_is_tried_because_of_the_end() {
    let mut history = History::with_nodes(&["n1"]);
    for name in ["old", "other"] {
        history.bind(&Pod::new(name), "n1");
    }
    let new = Pod::new("new");
    history.pod(&new);
    history.refuse(&new, "0/1 nodes are available: 1 Insufficient cpu.");
    history.delete("pods/a/old");
    history.bind(&new, "n1");
    assert_eq!(unseen(&history.explained("new")), [""; 0]);
}
