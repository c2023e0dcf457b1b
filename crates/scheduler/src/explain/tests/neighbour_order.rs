//! Orders that are decided by what became of the other pod, and what is unknown where that leaves both.

use crate::Verdict;
use crate::explanation::{Agreement, Explanation};

use super::history::{History, Pod, assumed, doubted, is_marked, total};

const REFUSED_MESSAGE: &str = "0/2 nodes are available";

/// Two pods that were refused before, so that the queue does not tell which was taken first; `a` is bound to n2, then `b` to n1. Other pods are on
/// these nodes.
fn retried(others: &[(&'static str, &str)]) -> History {
    let mut history = History::with_nodes(&["n1", "n2"]);
    others.iter().for_each(|(pod, node)| {
        history.bind(&Pod::new(pod), node);
    });
    for pod in [Pod::new("a"), Pod::new("b")] {
        history.pod(&pod);
        history.refuse(&pod, REFUSED_MESSAGE);
    }
    history.bind(&Pod::new("a"), "n2");
    history.bind(&Pod::new("b"), "n1");
    history
}

/// The missing evidence of each filter whose verdict on a node is unknown.
fn unknown<'e>(explanation: &'e Explanation, node: &str) -> Vec<&'e str> {
    let node = explanation.judgement.nodes.iter().find(|evaluated| *evaluated.name == *node).unwrap();
    let missing = |verdict: &'e Verdict| if let Verdict::Unknown { missing } = verdict { Some(&**missing) } else { None };
    node.verdicts.iter().filter_map(missing).collect()
}

#[test]
fn a_neighbour_whose_outcome_needs_the_attempt_came_after_it() {
    let history = retried(&[("there", "n2")]);
    let a = history.explained("a");
    assert_eq!((assumed(&a), doubted(&a)), (vec![("a/b", "n1")], vec!["a/b"]), "n1 is the better one without b");
    let b = history.explained("b");
    assert_eq!((assumed(&b), doubted(&b), b.agreement), (vec![], vec![], Agreement::Agrees));
    assert_eq!(b.evaluated_revision, b.attempt.revision - 2, "a was bound by then, and decided about later");
    assert_eq!(["n1", "n2"].map(|node| is_marked(&b, node)), [false; 2]);
}

#[test]
fn one_attempt_asked_about_alone_is_decided_as_among_all() {
    let history = retried(&[("there", "n2")]);
    let alone = history.explained_by(super::history::scheduler(&["default-scheduler"]), Some("b")).pop().unwrap();
    let among_all = history.explained("b");
    let numbers = |explanation: &Explanation| (explanation.evaluated_revision, total(explanation, "n1"), total(explanation, "n2"));
    assert_eq!((numbers(&alone), &alone.caveats), (numbers(&among_all), &among_all.caveats));
}

#[test]
fn a_verdict_that_an_open_order_would_change_is_unknown() {
    let history = retried(&[("one", "n1"), ("two", "n2")]);
    let b = history.explained("b");
    assert_eq!((doubted(&b), b.agreement), (vec!["a/a"], Agreement::Agrees));
    let missing = unknown(&b, "n2");
    assert!(!missing.is_empty() && missing.iter().all(|missing| missing.contains("a/a")), "{missing:?}");
    assert_eq!(unknown(&b, "n1"), [""; 0]);
    assert_eq!(["n1", "n2"].map(|node| is_marked(&b, node)), [true; 2], "only in one of the two orders are there scores");
}
